{#-
The item's own option behind a letter that was shown: with rotated options the letters stay in order and the texts move
on by so many places. Without rotation, or for a letter that is no option, the letter itself.
-#}
{% macro own_option(letter, options, rotation) -%}
    coalesce(
        {{ options }}[
            (list_position({{ options }}, {{ letter }}) - 1 - {{ rotation }} % len({{ options }}) + len({{ options }}))
            % len({{ options }}) + 1
        ],
        {{ letter }}
    )
{%- endmacro %}
