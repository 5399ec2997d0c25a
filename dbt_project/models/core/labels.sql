with labels as (
    select
        label_set,
        label,
        min(position) as position,
        list(synonym order by synonym) as synonyms
    from {{ ref('stg_labels') }}
    group by label_set, label
)

select * from labels
