{#-
Mark whole numeric tokens. `7/10` and `7 out of 10` keep their scale, a percentage is no number on the scale, and the
scale itself ("0-3", "max 3") is not an answer. `_m3p5_` is -3.5: no word boundary lies inside it.
-#}
{% macro mark_numbers(text) -%}
    {%- set number = '\\d+(?:[.,]\\d+)?' %}
    {%- set steps = [
        ('\\b(\\d{1,3}),(\\d{3})\\b', '\\1\\2'),
        ('(^|[^\\d])\\.(\\d)', '\\10.\\2'),
        ('(?i)\\b' ~ number ~ '\\s*(?:%|percent\\b)', ' percentage '),
        ('(?i)\\b(scale|range)\\s*(?:of|from|is|:)?\\s*[(\\[]?\\s*' ~ number ~ '\\s*(?:-|to)\\s*' ~ number, '\\1'),
        ('(?i)\\(\\s*' ~ number ~ '\\s*(?:-|to)\\s*' ~ number ~ '\\s*\\)', ' '),
        ('(?i)\\bmax(?:imum)?\\b[^\\pL\\pN\\n]*' ~ number, ' '),
        ('(?i)[(\\[]*\\s*(?:/|\\bout\\s+of\\b)\\s*(' ~ number ~ ')', ' outof_\\1 '),
        ('(?i)(\\d)\\s*(?:-|\\bto\\b)\\s*(\\d)', '\\1 to \\2'),
        ('-(\\d+)[.,](\\d+)\\b', ' _m\\1p\\2_ '),
        ('-(\\d+)\\b', ' _m\\1_ '),
        ('\\b(\\d+)[.,](\\d+)\\b', ' _\\1p\\2_ '),
        ('\\b(\\d+)\\b', ' _\\1_ '),
        ('\\b_(m?\\d+(?:p\\d+)?)_\\b', ' <\\1> ')
    ] %}
    {{- tokens(rewrite(text, steps)) }}
{%- endmacro %}

{#- The number behind a mark, written in one way (3.0 and 3 are the same answer). -#}
{% macro unmark_number(mark) -%}
    cast(cast(replace(replace({{ mark }}, 'm', '-'), 'p', '.') as double) as varchar)
{%- endmacro %}

{#- The upper end of the scale that a statement names (`7 out of 10`); null where it names none. -#}
{% macro stated_scale(tokenised) -%}
    try_cast(nullif(regexp_extract({{ tokenised }}, ' outof ([0-9]+)', 1), '') as double)
{%- endmacro %}
