{#- No two rows share the key and no part of it is null. -#}
{% test primary_key(model, columns) %}
select
    {{ columns | join(', ') }},
    count(*) as n_rows
from {{ model }}
group by all
having count(*) > 1{% for column in columns %} or {{ column }} is null{% endfor %}
{% endtest %}
