{#- What joins the words of a compound: a letter that no text uses, so that it passes for a token. -#}
{% macro joint() -%} ˍ {%- endmacro %}

{#-
The entries of one spelling as the parser looks for them: whole tokens, apart or joined to a compound, then what they
are replaced by. A spelling of another label set has no label here: it is an answer, but an unknown one.
-#}
{% macro synonym_entries(spelling, label) -%}
    list_distinct(
        list_transform(
            ['  ', '  {{ joint() }}  '],
            lambda space: ' ' || replace({{ spelling }}, ' ', space) || ' >' || coalesce(replace({{ label }}, ' ', '~'), '!')
        )
    )
{%- endmacro %}

{#-
Mark declared spellings, longest first; blanks are doubled meanwhile, so that neighbours do not share one. A label inside
a longer compound ("partially_corect_incomplete", "non-contradictory") or a hedged one is no declared spelling: `<!>`.
"The correct answer is ..." speaks of another answer than the student's and says nothing of that.
-#}
{% macro mark_labels(text, synonyms) -%}
    {%- set marked -%}
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
            replace({{ tokens(joined_compounds(text)) }}, ' ', '  ')
        ),
        '  ', ' '
    )
    {%- endset -%}
    {%- set of_answers = '(?:the|an?|any)(?: [a-z]+)? <[^>]*> '
        ~ '(?:answers?|responses?|solutions?|explanations?|statements?|reasons?|ideas?)' %}
    regexp_replace(
        regexp_replace(
            replace(
                regexp_replace(
                    replace({{ marked }}, '> {{ joint() }} <', '> <'),
                    '{{ joint() }} <[^>]*>|<[^>]*> {{ joint() }}', '<!>', 'g'
                ),
                ' {{ joint() }} ', ' '
            ),
            ' (?:part(?:ly|ia[a-z]*)?|mostly|largely|somewhat|nearly|almost|half|semi|in|un|non|mis|incorrectly|wrongly)'
            ' <[^>]*>',
            ' <!>', 'g'
        ),
        ' {{ of_answers }} (?:is|was|are|were|would|should|could|must|has|have|mentions?|states?|says|describes?|explains?'
        '|requires?|needs?|includes?|involves?|refers?|to|given|provided|key) '
        '| (?:with|to|from|than|of|like|unlike|against) {{ of_answers }} ',
        ' reply ', 'g'
    )
{%- endmacro %}

{#- Put a joint where an underscore or hyphen stands between two letters or digits; elsewhere they are decoration. -#}
{% macro joined_compounds(text) -%}
    case
        when regexp_matches({{ text }}, '[\pL\pN][_-][\pL\pN]')
            then {{ rewrite(text, [
                ('--+', ' '), ('(^|[^\\pL\\pN_-])[_-]+', '\\1 '), ('[_-]+($|[^\\pL\\pN_-])', ' \\1'),
                ('[_-]+', ' ' ~ joint() ~ ' ')
            ]) }}
        else {{ text }}
    end
{%- endmacro %}
