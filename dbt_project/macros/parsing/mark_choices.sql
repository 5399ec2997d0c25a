{#-
Mark letters that stand for an option. Case still counts here: a decorated letter is one in any case, a bare one only as
a capital; the article "a" and the pronoun "I" are none: no article stands before a word of `after_a`, whatever comes
before it. `_B_` is a mark meanwhile: no word boundary lies inside it. What is wrong or eliminated is no answer.
-#}
{% macro mark_choices(text) -%}
    {%- set after_a = 'is|was|or|and|because|since|as|seems|would|should|over|rather|instead|not|but|than|which|for|due|with|'
        ~ 'in|on|of|from|by|if|based|says|states|The|This|That|It|In|Because|Since|As|According|Based|Explanation|Reason' %}
    {%- set things = 'vitamin|hepatitis|plan|type|figure|table|point|section|group|class|grade|part|student|speaker|team' %}
    {%- set steps = [
        ("(\\pL)'(\\pL)", '\\1\\2'),
        ('(?i)\\b(' ~ things ~ ')[-\\s]+[A-Z]\\b', '\\1'),
        ('\\b(?:Dr|Mrs?|Ms|Prof)\\.? [A-Z]\\b|\\b[A-Z]\\.(?: ?[A-Z]\\.)+|\\b[A-Z]-\\pL\\pL+', ' '),
        ('\\b[A-Z](?:\\++|#)', ' '),
        ('°\\s*[CF]\\b', ' degrees '),
        ('[(\\[{*$`"]+\\s*([A-Za-z])\\s*[)\\]}*$`".:]+', ' _\\1_ '),
        ('\\b__([A-Za-z])__\\b', ' _\\1_ '),
        ("(^|\\s)'([A-Za-z])'", '\\1 _\\2_ '),
        ('(?m)^[^\\pL\\pN\\n_]*([A-Za-z])\\s*[.):](\\s|$)', ' _\\1_ . \\2'),
        ('\\b([B-HJ-Z])\\b', ' _\\1_ '),
        ('\\bA\\b(\\s*(?:$|[^\\s\\pL\\pN]|\\n|(?:' ~ after_a ~ ')(?:\\s|$)|(?:to|vs|versus)\\s+_))', ' _A_ \\1'),
        ('\\bI\\b(\\s*(?:$|[.)\\]:;]))', ' _I_ \\1'),
        ('\\b((?i:option|choice|letter)(?:\\s+is)?\\s*[:=]?\\s*)A\\b', '\\1 _A_ '),
        ('(?i)\\b((?:answer|antwort|respuesta|risposta|resposta|option|choice|letter)(?:\\s+is\\s*[:=]?|\\s*[:=])\\s*)'
            ~ '([a-z])(\\s*(?:$|[\\n.,;:)]))', '\\1 _\\2_ \\3'),
        ('(?i)\\b((?:option|choice|letter)\\s+)([b-hj-z])\\b', '\\1 _\\2_ '),
        ('^\\W*([A-Za-z])\\W*$', ' _\\1_ '),
        ('\\b_([A-Za-z])_\\b', ' <\\1> ')
    ] %}
    regexp_replace(
        {{ tokens(rewrite(text, steps)) }},
        ' (?:wrong|incorrect|worst|false|least (?:likely|plausible|correct)|distractors?|eliminat[a-z]+|exclud[a-z]+'
        '|discard[a-z]*|reject[a-z]*|rul(?:e|es|ed|ing) out|cross(?:ed|ing)? out|not(?: [a-z]+)? :)'
        '(?: (?:is|are|was|the|answers?|options?|choices?|letter|solution|[:=])){0,4} <',
        ' no <', 'g'
    )
{%- endmacro %}

{#- Regular replacements one after the other, each everywhere in the text. -#}
{% macro rewrite(text, steps) -%}
    {%- for step in steps %}regexp_replace({% endfor %}{{ text }}
    {%- for pattern, target in steps %}, '{{ pattern | replace("'", "''") }}', '{{ target }}', 'g'){% endfor %}
{%- endmacro %}
