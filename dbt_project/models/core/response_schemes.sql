with representatives as (
    select distinct on (items.scheme_hash)
        items.scheme_hash,
        items.dataset,
        items.item_id,
        datasets.response_kind,
        datasets.label_set,
        items.min_score as lowest,
        items.max_score as highest
    from {{ ref('items') }} as items
    inner join {{ ref('stg_datasets') }} as datasets using (dataset)
    inner join {{ ref('stg_loads') }} as loads using (load_id)
    where loads.is_current
    order by items.scheme_hash, items.dataset, items.item_id
),

label_lists as (
    select
        label_set,
        list(label order by position) as labels
    from {{ ref('labels') }}
    group by label_set
),

synonym_lists as (
    select
        label_set,
        -- longest first, so that a label inside another one is not found in it
        list(
            {{ synonym_entry('synonym', 'label') }} order by length(synonym) desc, synonym
        ) as synonyms
    from {{ ref('stg_labels') }}
    group by label_set
),

option_lists as (
    select
        dataset,
        item_id,
        list(upper(option) order by option) as options
    from {{ ref('item_options') }}
    group by dataset, item_id
),

response_schemes as (
    select
        scheme_hash,
        response_kind,
        label_set,
        labels,
        synonyms,
        options,
        lowest,
        highest
    from representatives
    left join label_lists using (label_set)
    left join synonym_lists using (label_set)
    left join option_lists using (dataset, item_id)
)

select * from response_schemes
