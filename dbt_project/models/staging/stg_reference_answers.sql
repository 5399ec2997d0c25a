with source as (
    select * from {{ source('raw', 'reference_answers') }}
),

stg_reference_answers as (
    select
        load_id,
        dataset,
        testlet_id,
        reference_id,
        reference_text,
        quality
    from source
)

select * from stg_reference_answers
