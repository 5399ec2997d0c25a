with source as (
    select * from {{ source('raw', 'labels') }}
),

stg_labels as (
    select
        label_set,
        label,
        position,
        synonym
    from source
)

select * from stg_labels
