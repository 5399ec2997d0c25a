{#- Name schemas exactly as the folder says; dbt would put the target's schema in front. -#}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ target.schema if custom_schema_name is none else custom_schema_name | trim }}
{%- endmacro %}
