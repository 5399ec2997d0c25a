{#- A law that every row obeys; null counts as broken. -#}
{% test holds(model, law, where=none) %}
select *
from {{ model }}
where ({{ law }}) is not true{% if where %} and ({{ where }}){% endif %}
{% endtest %}
