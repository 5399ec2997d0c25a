{#-
From text to tokens, one blank between any two. `<x>` marks a candidate answer, so angle brackets of the text itself go
first: arrows and tags such as <answer> become `answer :`, bounds such as "> 7" words.
-#}
{% macro drop_brackets(text) -%}
    regexp_replace(
        regexp_replace(
            regexp_replace(
                regexp_replace(
                    regexp_replace(
                        regexp_replace({{ unchecked(text) }}, '[-=]+>', ' : ', 'g'),
                        '([:=]\s*|\pL\s+)[<>≤≥]=?\s*(\d+(?:[.,]\d+)?)([^>\d.,]|$)', '\1 above or below \2\3', 'g'
                    ),
                    '<([\pL_ -]+)>', chr(10) || ' \1 : ', 'g'
                ),
                '<\s*/[^>]*>', chr(10), 'g'
            ),
            '\\(?:text\w*|math\w*|mbox)\b', '', 'g'
        ),
        '[<>]', ' ', 'g'
    )
{%- endmacro %}

{#- A list of boxes to tick states what is ticked. -#}
{% macro unchecked(text) -%}
    case
        when regexp_matches({{ text }}, '\[[ xX]?\]')
            then regexp_replace(
                regexp_replace({{ text }}, '(?m)^(\s*[-*]\s*)\[ ?\]', '\1 not ', 'g'), '(?m)^(\s*[-*]\s*)\[[xX]\]', '\1', 'g'
            )
        else {{ text }}
    end
{%- endmacro %}

{#- Lower case; words, marks and the punctuation that ends a statement; everything else is a blank. -#}
{% macro tokens(text) -%}
    regexp_replace(
        regexp_replace(
            ' ' || regexp_replace(
                regexp_replace(replace(lower({{ text }}), '''', ''), '([:=.?!,;\n])', ' \1 ', 'g'),
                -- blanks are no part of the class: what is replaced then is rare, and that is what costs
                '[^ \pL\pN<>:=.?!,;\n]+', ' ', 'g'
            ) || ' ',
            '  +', ' ', 'g'
        ),
        -- "student answer:" echoes the prompt and states nothing
        ' (?:students?|learners?|reference|expected) (?:answers?|responses?) ', ' reply ', 'g'
    )
{%- endmacro %}
