{{ config(materialized='ephemeral', contract={'enforced': false}) }}

with counted as (
    select
        dataset,
        rater_id,
        scope,
        any_value(response_kind) as response_kind,
        count(*) as n_items,
        count(*) filter (where is_answered) as n,
        count(*) filter (where not is_answered) as n_missing,
        count(*) filter (where status = 'not_asked') as n_not_asked,
        count(*) filter (where is_equal) as n_equal,
        count(*) filter (where is_common) as n_common,
        count(*) filter (where is_common and is_equal) as n_common_equal,
        {{ pearson_r('gold_score', 'answer_score') }} as pearson_r,
        avg(abs(gold_score - answer_score)) as mae,
        sqrt(avg((gold_score - answer_score) ** 2)) as rmse
    from {{ ref('int_scoped_comparisons') }}
    group by dataset, rater_id, scope
),

scope_agreement as (
    select
        counted.*,
        n_equal / nullif(n, 0) as accuracy,
        n_equal / nullif(n_items - n_not_asked, 0) as accuracy_all,
        n_common_equal / nullif(n_common, 0) as accuracy_common,
        classes.* exclude (dataset, rater_id, scope),
        nullif(
            concat_ws(
                '; ',
                case when n = 0 then 'nothing answered' end,
                case response_kind {{ not_for_kind() }} end,
                case
                    when classes.n_classes = 1
                        then 'one class only: qwk, qwk_observed_categories, cohen_kappa'
                end,
                case
                    when response_kind = 'score' and n > 0 and pearson_r is null
                        then 'one side is constant: pearson_r'
                end,
                case
                    when n_common = 0 then 'no item that every rater answered: accuracy_common'
                end
            ),
            ''
        ) as undefined_reason
    from counted
    left join {{ ref('int_class_agreement') }} as classes using (dataset, rater_id, scope)
)

select * from scope_agreement
