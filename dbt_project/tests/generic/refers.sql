{#- Every row finds its partner by a key of one or more columns. -#}
{% test refers(model, columns, to) %}
select {{ columns | join(', ') }}
from {{ model }}
anti join {{ to }} using ({{ columns | join(', ') }})
{% endtest %}
