{#-
Agreement as aggregate expressions. Each is null where it is undefined; nothing is filled in. Counts are whole numbers,
so kappas are exact up to their last division.
-#}

{#- Quadratic weighted kappa (Cohen 1968) over rows with a weight; the factor (k - 1)^2 of its weights cancels. -#}
{% macro qwk(gold, answer, weight) -%}
    1 - sum({{ weight }} * ({{ gold }} - {{ answer }}) ** 2) / nullif(
        sum({{ weight }} * ({{ gold }} ** 2 + {{ answer }} ** 2))
        - 2.0 * sum({{ weight }} * {{ gold }}) * sum({{ weight }} * {{ answer }}) / sum({{ weight }}),
        0
    )
{%- endmacro %}

{#- Cohen's kappa over one row per class; null where gold and answers hold the same single class. -#}
{% macro cohen_kappa(n_gold, n_answer, n_both) -%}
    (sum({{ n_gold }}) * sum({{ n_both }}) - sum({{ n_gold }} * {{ n_answer }})) / nullif(
        sum({{ n_gold }}) * sum({{ n_gold }}) - sum({{ n_gold }} * {{ n_answer }}), 0
    )
{%- endmacro %}

{#- F1 of one class that occurs in gold or in answers. -#}
{% macro f1(n_gold, n_answer, n_both) -%}
    2 * {{ n_both }} / ({{ n_gold }} + {{ n_answer }})
{%- endmacro %}

{#- Precision or recall of one class; 0 where it would divide by nothing, as there is no hit either. -#}
{% macro share_right(n_both, n_of) -%}
    {{ n_both }} / greatest({{ n_of }}, 1)
{%- endmacro %}

{% macro weighted_mean(value, weight) -%}
    sum({{ weight }} * {{ value }}) / sum({{ weight }})
{%- endmacro %}

{#- Pearson's r; null where one side is constant. -#}
{% macro pearson_r(x, y) -%}
    case
        when min({{ x }}) < max({{ x }}) and min({{ y }}) < max({{ y }}) then corr({{ x }}, {{ y }})
    end
{%- endmacro %}

{#- Ties share a rank, the best is 1, and what has no value has no rank. -#}
{% macro rank_of(value, partition) -%}
    case
        when {{ value }} is not null
            then rank() over (partition by {{ partition }} order by {{ value }} desc nulls last)
    end
{%- endmacro %}

{#- Branches of a case over response_kind: the metrics that a kind never has, and why. -#}
{% macro not_for_kind() -%}
    when 'choice' then 'options have no order: accuracy only'
                    when 'label' then 'labels are no numbers: pearson_r, mae, rmse'
{%- endmacro %}
