{{ config(materialized='ephemeral', contract={'enforced': false}) }}

with scoped_comparisons as (
    select
        *,
        unnest(
            list_filter(
                ['pooled', 'set:' || testlet_id, 'part:' || test_part],
                lambda scope: scope is not null
            )
        ) as scope
    from {{ ref('gold_comparisons') }}
)

select * from scoped_comparisons
