with source as (
    select * from {{ source('raw', 'items') }}
),

stg_items as (
    select
        load_id,
        dataset,
        item_id,
        testlet_id,
        testlet_stimulus,
        testlet_rubric,
        stratum,
        split,
        test_part,
        item_text,
        gold_label,
        gold_score,
        answer_key,
        min_score,
        max_score,
        item_hash,
        scheme_hash,
        extra
    from source
)

select * from stg_items
