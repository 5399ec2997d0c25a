{#- A synonym as the parser looks for it: whole tokens, then what it is replaced by. -#}
{% macro synonym_entry(synonym, label) -%}
    ' ' || replace({{ synonym }}, ' ', '  ') || ' >' || replace({{ label }}, ' ', '~')
{%- endmacro %}

{#- Mark declared spellings, longest first; blanks are doubled meanwhile, so that neighbours do not share one. -#}
{% macro mark_labels(text, synonyms) -%}
    replace(
        list_reduce(
            {{ synonyms }},
            lambda marked, entry: case
                when contains(marked, split_part(entry, '>', 1))
                    then replace(
                        marked, split_part(entry, '>', 1), ' <' || split_part(entry, '>', 2) || '> '
                    )
                else marked
            end,
            replace({{ tokens(text) }}, ' ', '  ')
        ),
        '  ', ' '
    )
{%- endmacro %}
