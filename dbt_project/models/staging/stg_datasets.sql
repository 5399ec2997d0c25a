with source as (
    select * from {{ source('raw', 'datasets') }}
),

stg_datasets as (
    select
        load_id,
        dataset,
        bank,
        benchmark,
        title,
        paradigm,
        response_kind,
        label_set,
        licence,
        is_text_public,
        is_gold_public,
        gold_version,
        source
    from source
)

select * from stg_datasets
