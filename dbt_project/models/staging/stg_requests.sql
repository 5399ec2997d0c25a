with source as (
    select * from {{ source('raw', 'requests') }}
),

stg_requests as (
    select
        request_id,
        rater_id,
        dataset,
        item_id,
        replicate,
        content_hash,
        studies
    from source
)

select * from stg_requests
