{#-
How an answer is stated, per kind, as one pattern over tokens with marks. A `strict` word with a colon states an answer
whatever follows on its line; a `loose` one does so only right before a mark; `nouns` need "is"; `verbs` lead to a mark;
a line that holds nothing but a mark states it too, and adjacent ones are one statement. Words that deny or doubt what a
clause says belong to its statement. The patterns are constants, so that each is compiled once.
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
            'verbs': '(?:not be )?(?:classified as|categori[sz]ed as|labell?ed(?: as)?|judged(?: as)?)|no [:,.;!]|'
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
            'loose': 'answer|result|evaluation|assessment|prediction|output|verdict|overall|'
                ~ 'ocena|оценка|балл|得分|评分|評分|分数|スコア|점수',
            'nouns': 'score|grade|mark|rating|band|punktzahl',
            'verbs': '(?:' ~ first_person ~ '(?:rate|give|award|assign|score|grade)|deserves?|merits?|earns?)'
                ~ '(?: ' ~ word ~ '){0,4}?|(?:for|giving|making) a total of'
        },
        'discrimination': {
            'strict': 'discrimination|correlation|point biserial|estimate|prediction|value',
            'loose': 'answer|result|output|index|r',
            'nouns': 'discrimination|correlation|estimate|prediction|value|index|answer',
            'verbs': first_person ~ '(?:estimate|predict|expect)(?: ' ~ word ~ '){0,4}?'
        },
        'difficulty': {
            'strict': 'difficulty|estimate|prediction|value',
            'loose': 'answer|result|output|index|b',
            'nouns': 'difficulty|estimate|prediction|value|index|answer',
            'verbs': first_person ~ '(?:estimate|predict|expect)(?: ' ~ word ~ '){0,4}?'
        }
    }[kind] %}
    {%- set is_number = kind in ('score', 'discrimination', 'difficulty') %}
    {#- words that may stand between "answer is" and the answer; labels are adjectives and bear few -#}
    {%- set fill = 'the|a|an|is|as|final' %}
    {%- if kind != 'label' %}
        {%- set fill = fill ~ '|be|it|i|would|should|must|to|my|this|that|answer|response|option|choice|letter|score|grade|'
            ~ 'clearly|therefore|definitely|most|likely|probably|think|believe|correct|right|best|boxed|of|at|about|'
            ~ 'approximately|overall|value|index' %}
    {%- endif %}
    {%- if is_number %}
        {%- set fill = fill ~ '|around|roughly|exactly|just|only|solid|strong|weak|low|high|band|level|total' %}
    {%- endif %}
    {%- set fill = '(?:(?:' ~ fill ~ ') )*' %}
    {%- set mark = '<[^>]*>(?: outof [0-9]+)?' %}
    {%- set marks = mark ~ '(?: (?:(?:or|and|and then|,|to|vs|versus|, or) )?'
        ~ '(?:(?:maybe|perhaps|possibly|probably|also|even|else|boxed|option) ){0,2}' ~ mark ~ ')*' %}
    {#- what takes the answer back at once -#}
    {%- set marks = marks ~ '(?: (?:(?:is|was|seems|ist|es|est) (?:' ~ word ~ ' )?(?:not|wrong|incorrect|false|falsch|faux)'
        ~ '|or (?:higher|lower|more|less|above|below|better|worse)) )?' %}
    {%- set alone = marks ~ '(?: (?:points?|marks?))?(?: [.!])*' %}
    {%- set lead = '(?: ' ~ word ~ '){0,3}? [:=] (?:[:=\\n] )*' %}
    {#- numbers are counts as often as answers: one further on in the line is none -#}
    {%- set ends = '(?: *(?:[.,;!\\n]|(?:points?|marks?|because|since|as|for) |$))' if is_number else '' %}
    {%- set others = '[^<\\n]*(?m:$)' if is_number else '[^\\n]*' -%}
    (?: {{ denial() }}(?: {{ word }}){0,4}? ?)?(?:{{ [
        ' (?:(?:' ~ words.strict ~ ')' ~ lead ~ ')+(?:' ~ fill ~ marks ~ '|' ~ others ~ ')',
        ' (?:' ~ words.loose ~ ')' ~ lead ~ fill ~ marks ~ ends,
        ' (?:' ~ words.nouns ~ ')(?: ' ~ word ~ '){0,3}? (?:is|be|was|of|ist|es) ' ~ fill ~ marks,
        ' (?:boxed|' ~ words.verbs ~ ') ' ~ fill ~ marks,
        ' (?:actually|wait|correction)(?: (?:[:,.]|no|its|it|is|should|be))* ' ~ fill ~ marks,
        '<[^>]*> (?:is|seems|appears) (?:to be )?(?:the )?(?:most )?(?:likely )?(?:correct|right|best) ',
        '<[^>]*> outof [0-9]+ (?:[.!;\\n]|$)',
        '(?m:^) *' ~ mark ~ '(?: ,)? (?:because|since) ',
        '(?m:^) *(?:(?:the|my|final|correct|overall|total) )*(?:(?:overall|final) [:=] )?'
        ~ '(?:(?:' ~ words.nouns ~ ') )?' ~ alone ~ '(?:[ \\n]*\\n *' ~ alone ~ ')* *(?m:$)'
    ] | join('|') }})
{%- endmacro %}
