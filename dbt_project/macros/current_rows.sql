{#- Rows of a staged bank table whose load is the current one of its bank. -#}
{% macro current_rows(relation) -%}
    select staged.*
    from {{ relation }} as staged
    semi join {{ ref('stg_loads') }} as loads
        on staged.load_id = loads.load_id and loads.is_current
{%- endmacro %}
