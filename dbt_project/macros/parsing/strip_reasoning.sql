{#-
Reasoning is not the answer: closed blocks go first, then all that precedes a closing tag without its opening one
(templates may open the block in the prompt). What still holds an opening tag was never closed.
-#}
{% macro reasoning_tags() -%} (?:{{ var('reasoning_tags') | join('|') }}) {%- endmacro %}

{% macro opening_tag() -%}
    (?:<\s*{{ reasoning_tags() }}(?:\s[^>]*)?>|\[think\]|<\|channel\|>\s*analysis)
{%- endmacro %}

{% macro closing_tag() -%}
    (?:<\s*/\s*{{ reasoning_tags() }}\s*>|\[/think\]|<\|channel\|>\s*final\s*<\|message\|>)
{%- endmacro %}

{% macro strip_reasoning(text) -%}
    case
        when regexp_matches({{ text }}, '[<\[]')
            then regexp_replace(
                regexp_replace({{ text }}, '(?is){{ opening_tag() }}.*?{{ closing_tag() }}', E'\n', 'g'),
                '(?is)^.*{{ closing_tag() }}', ''
            )
        else {{ text }}
    end
{%- endmacro %}

{% macro has_open_reasoning(text) -%}
    regexp_matches({{ text }}, '(?i){{ opening_tag() }}')
{%- endmacro %}
