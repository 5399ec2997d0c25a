{{ config(materialized='ephemeral', contract={'enforced': false}) }}

with confusions as (
    select
        dataset,
        rater_id,
        scope,
        gold_class,
        answer_class,
        count(*) as n,
    from {{ ref('int_scoped_comparisons') }}
    where is_answered and gold_class is not null and answer_class is not null
    group by all
),

sides as (
    select dataset, rater_id, scope, gold_class as class, n as n_gold, 0 as n_answer, 0 as n_both
    from confusions
    union all
    select dataset, rater_id, scope, answer_class, 0, n, case when gold_class = answer_class then n else 0 end
    from confusions
),

classes as (
    select
        dataset,
        rater_id,
        scope,
        class,
        sum(n_gold) as n_gold,
        sum(n_answer) as n_answer,
        sum(n_both) as n_both,
        row_number() over (partition by dataset, rater_id, scope order by class) as place,
    from sides
    group by dataset, rater_id, scope, class
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
        {{ weighted_mean(share_right('n_both', 'n_gold'), 'n_gold') }} as recall_weighted,
    from classes
    group by dataset, rater_id, scope
),

weighted as (
    select
        confusions.dataset,
        confusions.rater_id,
        confusions.scope,
        {{ qwk('confusions.gold_class', 'confusions.answer_class', 'confusions.n') }} as qwk,
        {{ qwk('gold_places.place', 'answer_places.place', 'confusions.n') }} as qwk_observed_categories,
    from confusions
    inner join classes as gold_places
        on
            confusions.dataset = gold_places.dataset
            and confusions.rater_id = gold_places.rater_id
            and confusions.scope = gold_places.scope
            and confusions.gold_class = gold_places.class
    inner join classes as answer_places
        on
            confusions.dataset = answer_places.dataset
            and confusions.rater_id = answer_places.rater_id
            and confusions.scope = answer_places.scope
            and confusions.answer_class = answer_places.class
    group by confusions.dataset, confusions.rater_id, confusions.scope
)

select *
from by_class
inner join weighted using (dataset, rater_id, scope)
