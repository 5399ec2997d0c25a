{#- A statement or a mention that says what the answer is not. -#}
{% macro is_negated(tokenised) -%}
    {%- set word = '[^ <>:=.,;!?\\n]+' -%}
    regexp_matches(
        {{ tokenised }},
        ' (?:not|never|isnt|arent|wasnt|cannot|cant|neither|nor|no|without|hardly)(?: {{ word }}){0,2} <[^>]*>'
        '|<[^>]*> (?:is|was|seems|cannot|cant|isnt)(?: {{ word }})? (?:not|wrong|incorrect|false|be) '
        '|<[^>]*> (?:is|was|seems) (?:not|wrong|incorrect|false) '
    )
{%- endmacro %}

{#- The model declines: what it mentions is no answer. -#}
{% macro is_refusal(tokenised) -%}
    {%- set word = '[^ <>:=.,;!?\\n]+' -%}
    {%- set acts = 'grade|determine|answer|assess|evaluate|provide|help|assist|judge|score|rate|comply|do|classify|decide|'
        ~ 'tell|say|give|assign|complete|fulfil|fulfill|predict|make|select|choose|pick|estimate|know|see|access' -%}
    regexp_matches(
        {{ tokenised }},
        ' (?:im|i am|were|we are) (?:unable|not able) '
        '| (?:cannot|cant|can not|couldnt|could not|wont|will not|unable to|not able to|dont|do not)'
        '(?: {{ word }})? (?:be )?(?:{{ acts }})(?:e?d|ned)? '
        '| as an? (?:ai|language model|artificial intelligence) '
        '| (?:must|have to) decline | (?:impossible|not possible) to '
        '|^ (?:im |i am )?(?:so |very |really )?sorry(?: [^ ]+){0,8} $'
        '| (?:insufficient|not enough|not have enough) (?:information|context|data) '
    )
{%- endmacro %}

{#- A statement in so many words (`label: x`, a line of its own), not one in the course of a sentence. -#}
{% macro is_formal(statement) -%}
    regexp_matches({{ statement }}, '[:=\n]|^ *<')
{%- endmacro %}

{#- A message of some engine or service that arrived as if it were a response. -#}
{% macro is_error_text(tokenised) -%}
    regexp_matches(
        {{ tokenised }},
        '^ (?:api |internal |server |http |runtime |value )*(?:error|exception|traceback|rate limit|request timed out)'
    )
{%- endmacro %}
