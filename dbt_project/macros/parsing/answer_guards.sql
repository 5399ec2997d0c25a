{#- Words that deny, doubt or suppose the rest of their clause. -#}
{% macro denial() -%}
    {%- set word = '[^ <>:=.,;!?\\n]+' -%}
    {%- set acts = 'think|believe|say|consider|agree|claim|call|label|classify|grade|rate|judge|give|award|assign|conclude|'
        ~ 'mean|imply|deserve|merit|find|see|true|case|clear|be (?:labell?ed|classified|considered)' -%}
    (?:{{ [
        '(?:not|dont|doesnt|didnt|wouldnt|couldnt|cannot|cant|never)(?: ' ~ word ~ ')? (?:' ~ acts ~ ')',
        'i(?: ' ~ word ~ ')? doubt|doubtful|unlikely|whether|unless|if (?:the|it|this|that|its|he|she|they|an?)'
    ] | join('|') }})
{%- endmacro %}

{#- A statement or a mention that says what the answer is not, might be, or lies above or below. -#}
{% macro is_negated(tokenised) -%}
    {%- set word = '[^ <>:=.,;!?\\n]+' -%}
    regexp_matches(
        {{ tokenised }},
        ' (?:not|never|isnt|arent|wasnt|cannot|cant|neither|nor|no|without|hardly'
        '|nicht|keine?|pas|não|non|не|niet|inte|nie)(?: {{ word }}){0,2} <[^>]*>'
        '|(?:不是|不选|不選|并非) <|<[^>]*> (?:不对|不正确|错|是错|では)'
        '| {{ denial() }}(?: {{ word }}){0,6} <'
        '| (?:(?:anything|nothing|everything|all) but|except|far from|other than|(?:less|more|lower|higher|greater) than'
        '|at least|at most|above|below|under|over)(?: {{ word }})? <| (?:nothing|none|no part)(?: {{ word }}){0,6} <'
        '|(?:^|[.,;:!?\n]) to be(?: {{ word }})? <'
        '| (?:need|needs|needed|should|must|order|required|enough)(?: {{ word }}){0,6} to be(?: {{ word }})? <'
        '| (?:would|could|might)(?: have)? be(?:en)?(?: {{ word }})? <[^>]*> if '
        '| (?:fail(?:s|ed|ing)? to|lack(?:s|ed|ing)?|miss(?:es|ed|ing)?|avoid(?:s|ed|ing)?|instead of|rather than)'
        '(?: {{ word }}){0,3} <'
        '|<[^>]*> not (?:[.,!;\n]|$)|<[^>]*> (?:[:=] )*(?:no|false) (?:[.,!;\n]|$)'
        '|<[^>]*> (?:is|was|seems|cannot|cant|isnt)(?: {{ word }})? (?:not|wrong|incorrect|false|be) '
        '|<[^>]*> (?:is|was|seems|ist|es|est|è|é) (?:not|wrong|incorrect[ao]?|false|falsch|nicht|faux|fausse|sbagliat[ao]'
        '|errad[ao]) '
        '|<[^>]*> or (?:higher|lower|more|less|above|below|better|worse) '
    )
{%- endmacro %}

{#- A number for an item statistic that was not asked for. -#}
{% macro is_of_another_quantity(statement) -%}
    (kind = 'discrimination' and regexp_matches({{ statement }}, ' (?:difficulty|facility|easiness|reliability) '))
    or (kind = 'difficulty' and regexp_matches({{ statement }}, ' (?:discrimination|facility|easiness|reliability) '))
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
        '| i(?: {{ word }})? (?:refuse|decline) to '
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
