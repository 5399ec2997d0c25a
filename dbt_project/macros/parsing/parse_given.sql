{#-
The parser over texts that are in no warehouse. It reads two tables that the caller makes:
`given` (id, said, is_cut, kind, options, lowest, highest) and `given_labels` (label, spelling).
Plain Jinja is enough to render it: it needs `var` and `local_md5` and nothing else of dbt.
-#}
{% macro parse_given() -%}
with entries as (
    select {{ synonym_entry('trim(' ~ tokens('spelling') ~ ')', 'label') }} as entry
    from given_labels
),

texts as (
    select
        given.*,
        (select list(entry order by length(entry) desc, entry) from entries) as synonyms
    from given
)

select
    *,
    '{{ parser_version() }}' as parser_version
from (
    {{ parse_answers('texts') }}
)
order by id
{%- endmacro %}
