with source as (
    select * from {{ source('raw', 'human_item_statistics') }}
),

stg_human_item_statistics as (
    select
        load_id,
        dataset,
        item_id,
        stratum,
        source,
        difficulty,
        discrimination,
        a,
        b,
        c,
        facility,
        n
    from source
)

select * from stg_human_item_statistics
