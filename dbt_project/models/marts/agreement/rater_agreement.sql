{%- set metrics = [
    'qwk', 'qwk_observed_categories', 'cohen_kappa', 'pearson_r', 'mae', 'rmse',
    'accuracy', 'accuracy_all', 'accuracy_common', 'f1_macro', 'f1_weighted',
    'precision_macro', 'precision_weighted', 'recall_macro', 'recall_weighted'
] %}
{#- what a kind of response never has, so that its absence in a set is no news -#}
{%- set never = {'accuracy': 'none', 'qwk': 'none', 'pearson_r': 'label'} %}
{%- set counts = ['n_items', 'n', 'n_missing', 'n_not_asked', 'n_common'] -%}

with scope_agreement as (
    select *
    from {{ ref('int_scope_agreement') }}
),

-- each set counts once, however many items; a mean leaves out sets where the metric is undefined
macro_agreement as (
    select
        dataset,
        rater_id,
        'macro' as scope,
        count(*) as n_sets,
        {%- for count in counts %}
        sum({{ count }}) as {{ count }},
        {%- endfor %}
        {%- for metric in metrics %}
        avg({{ metric }}) as {{ metric }},
        {%- endfor %}
        nullif(
            concat_ws(
                '; ',
                case min(response_kind) {{ not_for_kind() }} end,
                {%- for metric in ['accuracy', 'qwk', 'pearson_r'] %}
                case
                    when
                        min(response_kind) not in ('{{ never[metric] }}', 'choice')
                        and count(*) > count({{ metric }})
                        then format(
                            '{{ metric }} undefined in {} of {} sets',
                            count(*) - count({{ metric }}),
                            count(*)
                        )
                end,
                {%- endfor %}
                null
            ),
            ''
        ) as undefined_reason
    from scope_agreement
    where scope like 'set:%'
    group by dataset, rater_id
),

every_scope as (
    select * from macro_agreement
    union all by name
    select * exclude (response_kind, n_equal, n_common_equal, n_classes)
    from scope_agreement
),

rater_agreement as (
    select
        every_scope.dataset,
        every_scope.rater_id,
        every_scope.scope,
        every_scope.scope
        = case when datasets.is_multi_scale then 'macro' else 'pooled' end as is_default,
        every_scope.n_sets,
        {%- for count in counts %}
        cast(every_scope.{{ count }} as bigint) as {{ count }},
        {%- endfor %}
        {%- for metric in metrics %}
        every_scope.{{ metric }},
        {%- endfor %}
        every_scope.undefined_reason
    from every_scope
    inner join {{ ref('datasets') }} as datasets using (dataset)
)

select * from rater_agreement
