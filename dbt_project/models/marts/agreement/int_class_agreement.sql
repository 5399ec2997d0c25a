{{ config(materialized='ephemeral', contract={'enforced': false}) }}

with confusions as (
    select
        dataset,
        rater_id,
        scope,
        gold_class,
        answer_class,
        count(*) as n
    from {{ ref('int_scoped_comparisons') }}
    where is_answered and gold_class is not null and answer_class is not null
    group by all
),

sides as (
    select
        * exclude (gold_class, answer_class, n),
        unnest([gold_class, answer_class]) as class_position,
        unnest([n, 0]) as n_gold,
        unnest([0, n]) as n_answer,
        unnest([0, case when gold_class = answer_class then n else 0 end]) as n_both
    from confusions
),

classes as (
    select
        dataset,
        rater_id,
        scope,
        class_position,
        sum(n_gold) as n_gold,
        sum(n_answer) as n_answer,
        sum(n_both) as n_both,
        row_number() over (partition by dataset, rater_id, scope order by class_position) as place
    from sides
    group by dataset, rater_id, scope, class_position
),

by_class as (
    select
        dataset,
        rater_id,
        scope,
        count(*) as n_classes,
        {{ cohen_kappa('n_gold', 'n_answer', 'n_both') }} as cohen_kappa,
        avg({{ f1('n_gold', 'n_answer', 'n_both') }}) as f1_macro,
        {{ weighted_mean(f1('n_gold', 'n_answer', 'n_both'), 'n_gold') }} as f1_weighted,
        avg({{ share_right('n_both', 'n_answer') }}) as precision_macro,
        {{ weighted_mean(share_right('n_both', 'n_answer'), 'n_gold') }} as precision_weighted,
        avg({{ share_right('n_both', 'n_gold') }}) as recall_macro,
        {{ weighted_mean(share_right('n_both', 'n_gold'), 'n_gold') }} as recall_weighted
    from classes
    group by dataset, rater_id, scope
),

weighted as (
    select
        confusions.dataset,
        confusions.rater_id,
        confusions.scope,
        {{ qwk('gold_class', 'answer_class', 'n') }} as qwk,
        {{ qwk('gold_places.place', 'answer_places.place', 'n') }} as qwk_observed_categories
    from confusions
    inner join classes as gold_places using (dataset, rater_id, scope)
    inner join classes as answer_places using (dataset, rater_id, scope)
    where
        gold_places.class_position = confusions.gold_class
        and answer_places.class_position = confusions.answer_class
    group by confusions.dataset, confusions.rater_id, confusions.scope
)

select *
from by_class
inner join weighted using (dataset, rater_id, scope)
