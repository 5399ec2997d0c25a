{#- The parser's version is the hash of the SQL that parses, so that no change to it can be forgotten. -#}
{% macro parser_version() -%}
    {{ local_md5(parse_answers('texts'))[:12] }}
{%- endmacro %}
