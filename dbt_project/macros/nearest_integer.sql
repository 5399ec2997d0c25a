{#- The class of a score: the nearest integer, halves away from zero (2.5 is 3, -2.5 is -3). -#}
{% macro nearest_integer(score) -%}
    cast(round({{ score }}) as integer)
{%- endmacro %}
