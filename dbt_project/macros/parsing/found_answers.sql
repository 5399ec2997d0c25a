{#- The last statement of each text and the answers in it; without a statement, the answers mentioned anywhere. -#}
{% macro found_answers(relation) %}
                select
                    *,
                    statement is not null as is_stated,
                    {{ answers_in('coalesce(statement, marked)') }} as answers,
                    {{ is_refusal('marked') }} as is_refused,
                    {{ is_error_text('marked') }} as is_error
                from (
                    select
                        *,
                        (
                            case kind
                                {%- for kind in ['label', 'choice', 'score', 'difficulty'] %}
                                when '{{ kind }}' then regexp_extract_all(marked, '{{ statement_pattern(kind) }}')
                                {%- endfor %}
                                else regexp_extract_all(marked, '{{ statement_pattern('discrimination') }}')
                            end
                        )[-1] as statement
                    from ({{ marked_texts(relation) }}
                    ) as marked_texts
                ) as stated
{%- endmacro %}
