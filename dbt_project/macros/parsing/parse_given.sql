{#-
The parser over texts that are in no warehouse. It reads two tables that the caller makes:
`given` (id, said, is_cut, kind, options, lowest, highest) and `given_labels` (label, spelling), where spellings of other
label sets have a null for a label.
Plain Jinja is enough to render it: it needs `var` and `local_md5` and nothing else of dbt.
-#}
{% macro parse_given() -%}
with spellings as (
    select
        label,
        trim({{ tokens('spelling') }}) as spelling
    from given_labels
),

synonyms as (
    select flatten(list({{ synonym_entries('spelling', 'label') }} order by length(spelling) desc, spelling)) as entries
    from spellings
),

texts as (
    select
        given.*,
        synonyms.entries as synonyms
    from given
    cross join synonyms
)

select
    *,
    '{{ parser_version() }}' as parser_version
from (
    {{ parse_answers('texts') }}
)
{%- endmacro %}
