"""Faults of YAML syntax in one line: where, what is wrong in plain words, and what to do about it.

Knows what libyaml says. Reads no file, and knows nothing of what entries mean.
"""

import yaml

_QUOTES = "put the value in quotes"
_CLOSE = "close it, and put a comma between its parts"
_FAULTS = {
    "mapping values are not allowed": (
        "a second ':' in one value, a line indented too far, or a line without ':' above this one",
        "put text that holds ': ' in quotes, and begin the keys of one entry in one column",
    ),
    "could not find expected ':'": ("a key without ':' and a value", "write it as 'key: value'"),
    "did not find expected key": (
        "this line is indented otherwise than the keys above it, or something follows a closing quote",
        "begin the keys of one entry in one column; a ' inside '...' is written ''",
    ),
    "did not find expected '-'": ("a list with a line that does not begin with '-'", "begin it with '- ', or move it"),
    "cannot start any token": ("a tab, or a value that begins with @, ` or %", f"indent with spaces; {_QUOTES}"),
    "did not find expected ',' or ']'": ("a list '[' that is not closed or lacks a comma", _CLOSE),
    "did not find expected ',' or '}'": ("a '{' that is not closed or lacks a comma", _CLOSE),
    "unexpected end of stream": ("a quote that is not closed", "close it"),
    "unknown escape character": ("a backslash inside \"...\"", "put the text in '...' instead"),
    "found undefined alias": ("a value that begins with '*'", _QUOTES),
    "alphabetic or numeric character": ("a value that begins with '*', '&' or '!'", _QUOTES),
    "could not determine a constructor": ("a value that begins with '!'", _QUOTES),
    "stands twice": ("a key that stands twice", "rename one of the two or take it out"),
    "but found another document": ("a second document after '---'", "take the line '---' out"),
    "did not find expected node content": ("a value that begins with a closing bracket or a comma", _QUOTES),
}
"""What libyaml says of the faults that people make -> what it is, and the remedy."""


def place_of(fault: yaml.MarkedYAMLError) -> str:
    """Return line and column of a fault, counted from 1 as editors do; what is not closed is where it opens."""
    is_open = fault.context is not None and any(kind in fault.context for kind in ("flow", "quoted", "simple key"))
    mark = (fault.context_mark if is_open else None) or fault.problem_mark or fault.context_mark
    return "" if mark is None else f", line {mark.line + 1}, column {mark.column + 1}"


def in_plain_words(fault: yaml.MarkedYAMLError) -> str:
    """Say what is wrong and what to do about it; what nobody has met before in the parser's own words."""
    said = fault.problem or fault.context or "it cannot be read"
    found = (f"{what}; {remedy}" for sign, (what, remedy) in _FAULTS.items() if sign in said)
    return next(found, f"{said}; correct it")
