{#-
How an answer is stated, per kind, as one pattern over tokens with marks. A `strict` word with a colon states an answer
whatever follows on its line; a `loose` one does so only right before a mark; `nouns` need "is"; `verbs` lead to a mark;
a line that holds nothing but a mark states it too. The patterns are constants, so that each is compiled once.
-#}
{% macro statement_pattern(kind) %}
    {#- a token that is no mark and no punctuation; cheaper to compile than the classes of all letters -#}
    {%- set word = '[^ <>:=.,;!?\\n]+' %}
    {%- set first_person = '(?:i|id|ill|we|lets)(?: ' ~ word ~ '){0,2}? ' %}
    {%- set words = {
        'label': {
            'strict': 'label|classification|category|verdict|class|final answer|etikett',
            'loose': 'answer|judge?ment|evaluation|assessment|rating|decision|result|prediction|conclusion|output|grade',
            'nouns': 'label|classification|category|verdict|class|grade|judge?ment|rating|final answer|my answer',
            'verbs': 'classified as|categori[sz]ed as|labell?ed(?: as)?|judged(?: as)?|no [:,.;!]|'
                ~ first_person ~ '(?:classify|label|grade|rate|judge)(?: (?:this|it|the|answer|response))* as'
        },
        'choice': {
            'strict': 'answer|antwort|respuesta|r[eé]ponse|risposta|resposta',
            'loose': 'choice|option|selection|letter|solution|key|result|conclusion|output|ответ|答案|回答',
            'nouns': 'answer|option|choice|letter|solution|antwort|respuesta|r[eé]ponse',
            'verbs': 'therefore|thus|hence|so|' ~ first_person ~ '(?:pick|choose|chose|select|go with|opt for|guess|say)'
        },
        'score': {
            'strict': 'score|grade|marks?|points|rating|band|punktzahl|punkte|puntuación',
            'loose': 'answer|result|evaluation|assessment|prediction|output|verdict',
            'nouns': 'score|grade|mark|rating|band|punktzahl',
            'verbs': '(?:' ~ first_person ~ '(?:rate|give|award|assign|score|grade)|deserves?|merits?|earns?)'
                ~ '(?: ' ~ word ~ '){0,4}?'
        },
        'discrimination': {
            'strict': 'discrimination|correlation|point biserial|estimate|prediction|value|difficulty',
            'loose': 'answer|result|output|index',
            'nouns': 'discrimination|correlation|estimate|prediction|value|index|answer|difficulty',
            'verbs': first_person ~ '(?:estimate|predict|expect)(?: ' ~ word ~ '){0,4}?'
        }
    }[kind] %}
    {#- words that may stand between "answer is" and the answer; labels are adjectives and bear few -#}
    {%- set fill = 'the|a|an|is|as|final' %}
    {%- if kind != 'label' %}
        {%- set fill = fill ~ '|be|it|i|would|should|must|to|my|this|that|answer|response|option|choice|letter|score|grade|'
            ~ 'clearly|therefore|definitely|most|likely|probably|think|believe|correct|right|best|boxed|of|at|about|'
            ~ 'approximately|overall|value|index' %}
    {%- endif %}
    {%- set fill = '(?:(?:' ~ fill ~ ') )*' %}
    {%- set mark = '<[^>]*>(?: outof [0-9]+)?' %}
    {%- set marks = mark ~ '(?: (?:(?:or|and|and then|,|to|vs|versus) )?' ~ mark ~ ')*' %}
    {%- set lead = '(?: ' ~ word ~ '){0,3}? [:=] (?:[:=\\n] )*' -%}
    {{ [
        ' (?:(?:' ~ words.strict ~ ')' ~ lead ~ ')+(?:' ~ fill ~ marks ~ '|[^\\n]*)',
        ' (?:' ~ words.loose ~ ')' ~ lead ~ fill ~ marks,
        ' (?:' ~ words.nouns ~ ')(?: ' ~ word ~ '){0,3}? (?:is|be|was|of|ist|es) ' ~ fill ~ marks,
        ' (?:boxed|' ~ words.verbs ~ ') ' ~ fill ~ marks,
        '<[^>]*> (?:is|seems|appears) (?:to be )?(?:the )?(?:most )?(?:likely )?(?:correct|right|best) ',
        '<[^>]*> outof [0-9]+ (?:[.!;\\n]|$)',
        '(?m:^) *(?:(?:the|my|final|correct|overall|total) )*(?:(?:' ~ words.nouns ~ ') )?' ~ marks
        ~ '(?: (?:points?|marks?))?(?: [.!])* *(?m:$)'
    ] | join('|') }}
{%- endmacro %}
