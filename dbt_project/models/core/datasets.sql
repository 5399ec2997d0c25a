with current_datasets as (
    {{ current_rows(ref('stg_datasets')) }}
),

item_counts as (
    select
        dataset,
        count(*) filter (where split = 'test') as n_items,
        count(*) filter (where split <> 'test') as n_other_items,
        count(distinct testlet_id) filter (where split = 'test') as n_testlets,
        count(distinct [min_score, max_score]) filter (where split = 'test') as n_scales,
        min(min_score) as min_score,
        max(max_score) as max_score
    from {{ ref('items') }}
    group by dataset
),

datasets as (
    select
        dataset,
        bank,
        benchmark,
        title,
        paradigm,
        response_kind,
        label_set,
        coalesce(n_items, 0) as n_items,
        coalesce(n_other_items, 0) as n_other_items,
        coalesce(n_testlets, 0) as n_testlets,
        coalesce(n_scales, 0) > 1 as is_multi_scale,
        min_score,
        max_score,
        licence,
        is_text_public,
        is_gold_public,
        gold_version,
        source
    from current_datasets
    left join item_counts using (dataset)
)

select * from datasets
