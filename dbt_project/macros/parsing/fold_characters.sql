{#-
Unicode: one form for one character. Compatibility letters and digits (full width, mathematical, circled, digits of
other scripts) become ASCII, as do dashes, quotes and blanks; invisible characters go. Plain ASCII text is left alone.
-#}
{% macro character_map() %}
    {%- set map = namespace(old='', new='') %}
    {%- set upper = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ' %}
    {%- set letters = upper ~ upper | lower %}
    {%- for first, target in [
        (0xFF01, '!"#$%&'), (0xFF08, '()*+,-./0123456789:;<=>?@' ~ upper ~ '[\\]^_`' ~ upper | lower ~ '{|}~'),
        (0x24B6, letters), (0x249C, upper | lower), (0x1F130, upper), (0x1F150, upper), (0x1F170, upper),
        (0x2460, '123456789'), (0x2070, '0'), (0x2074, '456789'), (0x2080, '0123456789'), (0x00B9, '1'), (0x00B2, '23'),
        (0x2010, '----  '), (0x2212, '-'), (0xFE63, '-'), (0x201C, '""""'), (0x00AB, '"'), (0x00BB, '"'),
        (0x00A0, ' '), (0x2000, '           '), (0x202F, ' '), (0x205F, ' '), (0x3000, ' '), (0x3001, ','),
        (0x3002, '.'), (0x066B, '.,'), (0x3010, '[]'), (0x300C, '""'), (0x2044, '/'), (0x2215, '/'),
        (0x2192, ':'), (0x21D2, ':')
    ] %}
        {%- set map.new = map.new ~ target %}
        {%- for place in range(target | length) %}{% set map.old = map.old ~ '%c' % (first + place) %}{% endfor %}
    {%- endfor %}
    {%- for style in range(13) %}
        {%- set map.new = map.new ~ letters %}
        {%- for place in range(52) %}{% set map.old = map.old ~ '%c' % (0x1D400 + 52 * style + place) %}{% endfor %}
    {%- endfor %}
    {%- for zero in [0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x0660, 0x06F0, 0x0966, 0x09E6, 0x0E50] %}
        {%- set map.new = map.new ~ '0123456789' %}
        {%- for digit in range(10) %}{% set map.old = map.old ~ '%c' % (zero + digit) %}{% endfor %}
    {%- endfor -%}
    '{{ map.old }}', '{{ map.new }}'
{%- endmacro %}

{% macro fold_characters(text) -%}
    case
        when regexp_matches({{ text }}, '[^\x00-\x7F]')
            then translate(
                regexp_replace(
                    regexp_replace(
                        regexp_replace(
                            replace(replace(nfc_normalize({{ text }}), '‘', ''''), '’', ''''), '\p{Cf}', '', 'g'
                        ),
                        -- a cross says what is wrong; a number with a fraction is not the number before it
                        '[❌✗✘✖🚫]', ' not ', 'g'
                    ),
                    '\d*\s*[¼-¾⅐-⅞]', ' fraction ', 'g'
                ),
                {{ character_map() }}
            )
        else {{ text }}
    end
{%- endmacro %}
