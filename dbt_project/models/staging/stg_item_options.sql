with source as (
    select * from {{ source('raw', 'item_options') }}
),

stg_item_options as (
    select
        load_id,
        dataset,
        item_id,
        option,
        option_text
    from source
)

select * from stg_item_options
