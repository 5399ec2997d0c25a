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

spellings as (
    select distinct synonym as spelling
    from {{ ref('stg_labels') }}
),

-- spellings of other label sets as well: whoever says one gives an answer, but none of this set
spelling_owners as (
    select
        sets.label_set,
        spellings.spelling,
        own.label
    from label_lists as sets
    cross join spellings
    left join {{ ref('stg_labels') }} as own
        on sets.label_set = own.label_set and spellings.spelling = own.synonym
),

synonym_lists as (
    select
        label_set,
        -- longest first, so that a label inside another one is not found in it
        flatten(list(
            {{ synonym_entries('spelling', 'label') }} order by length(spelling) desc, spelling
        )) as synonyms
    from spelling_owners
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
