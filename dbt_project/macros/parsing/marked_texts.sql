{#- Each text without reasoning, as tokens, with marks on what could be an answer of its kind. -#}
{% macro marked_texts(relation) %}
                        select
                            *,
                            -- "correct? No: ...": what is asked is not stated
                            regexp_replace(
                                case kind
                                    when 'label' then {{ mark_labels('folded', 'synonyms') }}
                                    when 'choice' then {{ mark_choices('folded') }}
                                    else {{ mark_numbers('folded') }}
                                end,
                                '<[^>]*> [?]', '?', 'g'
                            ) as marked
                        from (
                            select
                                *,
                                body <> said as is_reasoning_stripped,
                                {{ has_open_reasoning('body') }} as is_open,
                                regexp_full_match(body, '[\s\pZ\pC]*') as is_blank,
                                {{ drop_brackets(fold_characters('body')) }} as folded
                            from (
                                select
                                    *,
                                    {{ strip_reasoning('said') }} as body
                                from {{ relation }}
                            ) as stripped
                        ) as folded_texts
{%- endmacro %}

{#- The distinct answers marked in a piece of text; letters that are no option count only where they are stated. -#}
{% macro answers_in(tokenised) -%}
    list_distinct(
        case kind
            when 'label'
                then list_transform({{ marks_in(tokenised) }}, lambda mark: replace(mark, '~', ' '))
            when 'choice'
                then list_filter(
                    list_transform({{ marks_in(tokenised) }}, lambda mark: upper(mark)),
                    lambda mark: statement is not null or list_contains(options, mark)
                )
            else list_transform({{ marks_in(tokenised) }}, lambda mark: {{ unmark_number('mark') }})
        end
    )
{%- endmacro %}

{% macro marks_in(tokenised) -%}
    regexp_extract_all({{ tokenised }}, '<([^>]*)>', 1)
{%- endmacro %}
