{#-
How an answer is stated, per kind, as one pattern over tokens with marks. A `strict` word with a colon states an answer
whatever follows on its line; a `loose` one does so only right before a mark; `nouns` need "is"; `verbs` lead to a mark.
The patterns are constants, so that each is compiled once.
-#}
{% macro statement_pattern(kind) %}
    {#- a token that is no mark and no punctuation; cheaper to compile than the classes of all letters -#}
    {%- set word = '[^ <>:=.,;!?\\n]+' %}
    {%- set words = {
        'label': {
            'strict': 'label|classification|category|verdict|class|final answer|etikett',
            'loose': 'answer|judge?ment|evaluation|assessment|rating|decision|result|prediction|conclusion|output|grade',
            'nouns': 'label|classification|category|verdict|class|grade|judge?ment|rating|final answer|my answer',
            'verbs': 'classified as|labell?ed(?: as)?|classify (?:this|it) as|categori[sz]ed as|judged(?: as)?|no [:,.;!]'
        },
        'choice': {
            'strict': 'answer|antwort|respuesta|r[eé]ponse|risposta|resposta|answer choice',
            'loose': 'choice|option|selection|letter|solution|key|result|conclusion|output|ответ|答案|回答',
            'nouns': 'answer|option|choice|letter|solution|antwort|respuesta|r[eé]ponse',
            'verbs': 'pick|choose|chose|select|selected|go with|opt for|guess|therefore|thus|hence|so'
        },
        'score': {
            'strict': 'score|grade|marks?|points|rating|punktzahl|punkte|note|puntuación',
            'loose': 'answer|result|evaluation|assessment|prediction|output|verdict|total',
            'nouns': 'score|grade|mark|points|rating|punktzahl|note',
            'verbs': '(?:rate|give|award|assign|deserve|get|earn|receive|merit|score)s?(?: ' ~ word ~ '){0,4}?'
        },
        'discrimination': {
            'strict': 'discrimination|discrimination index|correlation|point biserial|estimate|prediction|value',
            'loose': 'answer|result|output|index',
            'nouns': 'discrimination|correlation|estimate|prediction|value|index|answer',
            'verbs': '(?:estimate|predict|expect)(?: ' ~ word ~ '){0,4}?'
        }
    }[kind] %}
    {%- set fill = [
        'the', 'a', 'an', 'is', 'be', 'it', 'i', 'would', 'should', 'must', 'to', 'my', 'this', 'that', 'reply', 'answer',
        'response', 'option', 'choice', 'letter', 'label', 'score', 'grade', 'clearly', 'therefore', 'definitely', 'most',
        'likely', 'probably', 'think', 'believe', 'as', 'classified', 'considered', 'final', 'correct', 'right', 'best',
        'boxed', 'of', 'at', 'about', 'approximately', 'student', 'students', 'overall', 'value'
    ] | join('|') %}
    {%- set fill = '(?:(?:' ~ fill ~ ') )*' %}
    {%- set mark = '<[^>]*>(?: outof [0-9]+)?' %}
    {%- set marks = mark ~ '(?: (?:(?:or|and|,|to|vs|versus) )?' ~ mark ~ ')*' %}
    {%- set lead = '(?: ' ~ word ~ '){0,3}? (?:[:=\\n] )+' -%}
    {{ [
        ' (?:(?:' ~ words.strict ~ ')' ~ lead ~ ')+' ~ fill ~ '(?:' ~ marks ~ '|[^\\n]*)',
        ' (?:' ~ words.loose ~ ')' ~ lead ~ fill ~ marks,
        ' (?:' ~ words.nouns ~ ')(?: ' ~ word ~ '){0,3}? (?:is|be|was|of|as|=) ' ~ fill ~ marks,
        ' (?:' ~ words.nouns ~ '|boxed|' ~ words.verbs ~ ') ' ~ fill ~ marks,
        '<[^>]*> (?:is|seems|appears) (?:to be )?(?:the )?(?:most )?(?:likely )?(?:correct|right|best) ',
        ' <[^>]*> outof [0-9]+',
        '(?m:^) *' ~ marks ~ '(?: [.!])* *(?m:$)'
    ] | join('|') }}
{%- endmacro %}

{#- A statement or a mention that says what the answer is not. -#}
{% macro is_negated(tokenised) -%}
    regexp_matches(
        {{ tokenised }},
        ' (?:not|never|isnt|arent|wasnt|cannot|cant|neither|nor|no|without|hardly)(?: [^ <>]+){0,2} <[^>]*>'
        '|<[^>]*> (?:is|was|seems|cannot|cant|isnt)(?: [^ <>]+)? (?:not|wrong|incorrect|false|be)'
    )
{%- endmacro %}

{#- The model declines: nothing that it mentions is its answer. -#}
{% macro is_refusal(tokenised) -%}
    {%- set acts = 'grade|determine|answer|assess|evaluate|provide|help|assist|judge|score|rate|comply|do|classify|'
        ~ 'decide|tell|say|give|assign|complete|fulfil|fulfill|predict|make|select|choose|pick|estimate|know|see|access' %}
    regexp_matches(
        {{ tokenised }},
        ' (?:im|i am|were|we are) (?:so |very |really )?(?:sorry|unable|not able) '
        '| (?:cannot|cant|can not|couldnt|could not|wont|will not|unable to|not able to|dont|do not)'
        '(?: [^ <>]+)? (?:be )?(?:{{ acts }})(?:e?d|ned)? '
        '| as an? (?:ai|language model|artificial intelligence) '
        '| (?:must|have to) decline | (?:impossible|not possible) to '
        '|^ (?:sorry|i apologi[sz]e) | (?:insufficient|not enough) (?:information|context|data) '
    )
{%- endmacro %}

{#- A message of some engine or service that arrived as if it were a response. -#}
{% macro is_error_text(tokenised) -%}
    regexp_matches(
        {{ tokenised }},
        '^ (?:api |internal |server |http |runtime |value )*(?:error|exception|traceback|rate limit|request timed out)'
    )
{%- endmacro %}
