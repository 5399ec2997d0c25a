{#-
The parser: one answer for each row of `relation`, which has said, is_cut, kind, synonyms (longest first), options
(capitals), lowest, highest, and whatever keys are to be kept. Order of the rules: reasoning not closed, or stopped by
length without a statement: truncated; blank: empty; the last statement decides; then refusal, error text, the only
answer mentioned (labels and choices); all else is invalid, with its reason.
-#}
{% macro parse_answers(relation) -%}
    select
        * exclude (
            synonyms, options, lowest, highest, body, folded, marked, statement, answers, is_blank, is_open,
            is_stated, is_refused, is_error, problem, is_final
        ),
        case
            when is_open or (is_cut and not is_final) then 'truncated'
            when is_blank then 'empty'
            when is_final or (problem is null and not is_refused and not is_error) then 'ok'
            when is_refused and not is_error then 'refused'
            else 'invalid'
        end as status,
        case
            when is_open then 'open_reasoning'
            when is_cut and not is_final then 'stopped_by_length'
            when status <> 'invalid' then null
            when is_error then 'error_text'
            else problem
        end as status_reason,
        case when status = 'ok' then answers[1] end as answer,
        case
            when status <> 'ok' then null
            when not is_stated then 'single_mention'
            when regexp_full_match(marked, '[ \n]*<[^>]*>(?: [.!])*[ \n]*') then 'whole_text'
            else 'statement'
        end as parser_rule,
        is_cut and status = 'ok' as is_truncated
    from (
        select
            *,
            is_stated and problem is null and not (is_cut and {{ may_be_shortened('answers[1]') }}) as is_final
        from ({{ judged_answers(relation) }}
        ) as judged
    ) as weighed
{%- endmacro %}

{#- What is wrong with each answer; null for nothing. -#}
{% macro judged_answers(relation) %}
            select
                *,
                case
                    when len(answers) > 1 then 'several_answers'
                    when len(answers) = 0 and is_stated then 'unknown_answer'
                    when len(answers) = 0 then 'no_answer'
                    when answers[1] = '!' then 'unknown_answer'
                    when {{ is_negated('coalesce(statement, marked)') }} then 'negated_answer'
                    when kind = 'choice' and not list_contains(options, answers[1]) then 'unknown_option'
                    when kind in ('label', 'choice') then null
                    when {{ is_of_another_quantity('statement') }} then 'unknown_answer'
                    when not is_stated then 'no_statement'
                    when cast(answers[1] as double) not between lowest and highest then 'out_of_range'
                    when {{ stated_scale('statement') }} <> highest then 'other_scale'
                end as problem
            from ({{ found_answers(relation) }}
            ) as found
{%- endmacro %}
