{#-
Mark whole numeric tokens. `7/10` and `7 out of 10` keep their scale, a percentage is no number on the scale, and the
scale itself ("0-3", "max 3", "3 points possible") is not an answer, nor is a tolerance, a bound ("> 7") or what a trait
or part of an essay gets. `_m3p5_` is -3.5: no word boundary lies inside it.
-#}
{% macro mark_numbers(text) -%}
    {%- set number = '\\d+(?:[.,]\\d+)?' %}
    {%- set nouns = 'score|grade|marks?|points|rating|band' %}
    {%- set traits = 'content|style|grammar|organi[sz]ation|language|vocabulary|coherence|cohesion|conventions|structure|'
        ~ 'spelling|mechanics|ideas|voice|fluency|focus|clarity|argument|argumentation|evidence|development|lexis|'
        ~ 'punctuation|confidence|certainty|accuracy|task(?: response| achievement)?|lexical resource|grammatical range' %}
    {%- set steps = [
        ('\\b(\\d{1,3}),(\\d{3})\\b', '\\1\\2'),
        ('(^|[^\\d])\\.(\\d)', '\\10.\\2'),
        ('(?i)\\b' ~ number ~ 'e[-+]?\\d+\\b', ' power '),
        ('(?i)(?:±|[+]/-)\\s*' ~ number, ' '),
        ('(' ~ number ~ ')[+](\\s|$)', ' at least \\1 \\2'),
        ('(?i)\\b(?:minus|negative)\\s+(\\d)', '-\\1'),
        ('([:=][ \\t]*)-[ \\t]+(\\d)', '\\1-\\2'),
        ('(?i)\\b' ~ number ~ '\\s*(?:%|percent\\b)', ' percentage '),
        ('(?i)\\b(scale|range)\\s*(?:of|from|is|:)?\\s*[(\\[]?\\s*' ~ number ~ '\\s*(?:-|to)\\s*' ~ number, '\\1'),
        ('(?i)[(\\[]\\s*-?' ~ number ~ '\\s*(?:-|to)\\s*' ~ number ~ '\\s*[)\\]]', ' '),
        ('(?i)\\btotal_(?:points|marks)\\b', ' part '),
        ('(?i)\\b(?:max(?:imum)?|possible|available)\\b[^\\pL\\pN\\n]*' ~ number, ' '),
        ('(?i)\\b' ~ number ~ '\\s*(?:(?:points?|marks?)\\s*)?(?:possible|available)\\b', ' '),
        ('(?i)[(\\[]*\\s*(?:/|\\bout\\s+of\\b(?:\\s+(?:a\\s+possible|the|a\\s+total\\s+of)\\b)?)\\s*(' ~ number ~ ')',
            ' outof_\\1 '),
        ('(?i)([:=]\\s*' ~ number ~ ') (?:of|von|van|sur|su|de|из) (' ~ number ~ ')', '\\1 outof_\\2 '),
        ('(?i)(\\d)\\s*(?:pts?|points?|marks?)\\b', '\\1 points'),
        ('(?i)(\\d)\\s*(?:-|\\bto\\b)\\s*(\\d)', '\\1 to \\2'),
        ('-(\\d+)[.,](\\d+)\\b', ' _m\\1p\\2_ '),
        ('-(\\d+)\\b', ' _m\\1_ '),
        ('\\b(\\d+)[.,](\\d+)\\b', ' _\\1p\\2_ '),
        ('\\b(\\d+)\\b', ' _\\1_ '),
        ('\\b_(m?\\d+(?:p\\d+)?)_\\b', ' <\\1> ')
    ] %}
    regexp_replace(
        {{ tokens(rewrite(text, steps)) }},
        ' (?:{{ traits }})(?: and (?:{{ traits }}))? (?:{{ nouns }}) '
        '| (?:{{ nouns }}) (?:for|on|of|in) (?:the |its )?(?:{{ traits }}) '
        '|<[^>]*> (?:(?:points?|marks?) )?(?:for|on) (?:the |its )?(?:{{ traits }}) '
        '|<[^>]*> (?:points?|marks?) for(?: [^ <>.;\n]+){1,8} <[^>]*> (?:points?|marks?) '
        '| (?:min|minimum|max|maximum|highest|lowest|higher|lower|perfect|passing|average|mean|possible|bonus|extra|deducted'
        '|lost|human|reference|expected|gold|true)(?: possible)? (?:{{ nouns }}) '
        '| (?:{{ nouns }}) of <[^>]*> (?:requires?|needs?|means|indicates|represents|corresponds|would'
        '|is (?:for|given|awarded)) '
        '| to (?:get|earn|receive|achieve|reach|deserve|merit)(?: [^ <>.:;\n]+){0,3} <[^>]*> '
        '| (?:{{ nouns }}) (?:level|difference|range|gap|deducted|lost|off|removed|subtracted|missing) ',
        ' part ', 'g'
    )
{%- endmacro %}

{#- The number behind a mark, written in one way (3.0 and 3 are the same answer). -#}
{% macro unmark_number(mark) -%}
    -- plus zero: -0 is 0
    cast(cast(replace(replace({{ mark }}, 'm', '-'), 'p', '.') as double) + 0 as varchar)
{%- endmacro %}

{#- Whether a number may have gone on where length stopped the response: 0. of 0.35, 1 of 10. -#}
{% macro may_be_shortened(answer) -%}
    kind not in ('label', 'choice')
    and regexp_matches(body, '\d[.,]?$')
    and regexp_matches(statement, '>[ .]*$')
    and ends_with(rtrim(marked, ' .,'), rtrim(statement, ' .'))
    and (
        kind <> 'score'
        or regexp_matches(body, '\d[.,]\d*$')
        or try_cast({{ answer }} as double) between 1 and highest / 10
    )
{%- endmacro %}

{#- The upper end of the scale that a statement names (`7 out of 10`); null where it names none. -#}
{% macro stated_scale(tokenised) -%}
    try_cast(nullif(regexp_extract({{ tokenised }}, ' outof ([0-9]+)', 1), '') as double)
{%- endmacro %}
