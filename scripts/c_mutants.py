"""Small changes of C sources, for mutation testing (scripts/mutate.py).

The source is read as a stream of tokens; comments, strings and preprocessor lines are left alone, and so are tables of
numbers. A change replaces one range of characters and keeps the number of lines. What no result can depend on, whatever
the program does, is not changed:

- a statement that names a prefetch (or vg_base__populate() and what prefaults, which ask for pages ahead), the
  condition or loop whose body it is, a function that is named so, and the declaration of a variable that nothing else
  uses;
- the number of elements of a local array is not made larger, where no sizeof and no macro is given the array: a correct
  program uses no element that its array did not have.

Identical object code is found later, by mutate.py. Operators:

    arithmetic  + with -, * with /, % with *, shifts, & with |, and the same of the assignments; ++ with --
    comparison  < with <= or >=, == with !=, and so on
    constant    a number plus or minus one; 0 and 1 exchanged
    condition   if (x), while (x) and the condition of ?: negated; && exchanged with ||
    statement   an expression statement, break or continue left out
    return      return 0 or !(x) in place of return x; return 1 in place of return 0
"""

import re
from dataclasses import dataclass

TOKEN = re.compile(
    r"""(?P<skip>\s+|/\*.*?\*/|//[^\n]*)
      | (?P<directive>^[ \t]*\#(?:[^\n\\]|\\.)*)
      | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<number>\.?[0-9](?:[eEpP][+-]|[0-9A-Za-z_.])*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<operator><<=|>>=|\.\.\.|->|\+\+|--|&&|\|\||[-+*/%&|^=!<>]=|<<|>>|[^\s])""",
    re.S | re.M | re.X,
)
ARITHMETIC = {
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "&",
    "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|=", "++": "--", "--": "++",
}  # fmt: skip
COMPARISON = {
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",),
}  # fmt: skip
KEYWORDS = {
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
    "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while",
}  # fmt: skip


FETCHES = ("prefetch", "PREFETCH", "__populate", "prefault")
TYPES = {"char", "const", "double", "float", "int", "long", "short", "signed", "unsigned"}


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Change:
    operator: str
    line: int
    start: int
    end: int
    text: str  # what takes the place of source[start:end]


def tokens(source):
    return [
        Token(found.lastgroup, found.group(), found.start(), found.end())
        for found in TOKEN.finditer(source)
        if found.lastgroup not in ("skip", "directive")
    ]


def closing(stream, at):
    """The index of the bracket that closes the one at `at`, or None."""
    depth = 0
    for i in range(at, len(stream)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(stream[i].text, 0)
        if depth == 0:
            return i
    return None


def function_bodies(stream):
    """The indices of the braces of every function: those that follow a `)`."""
    i = 0
    while i < len(stream):
        if stream[i].text == "{" and i > 0:
            end = closing(stream, i)
            if end is None:
                break
            if stream[i - 1].text == ")":
                yield i, end
            i = end
        i += 1


def in_function(stream):
    """For every token whether it is in the body of a function, the braces included."""
    inside = [False] * len(stream)
    for start, end in function_bodies(stream):
        for j in range(start, end):
            inside[j] = True
    return inside


def function_lines(source):
    """The first and last line of every function."""
    stream, found = tokens(source), []
    for body, end in function_bodies(stream):
        start = body
        while start > 0 and stream[start - 1].text not in (";", "}"):
            start -= 1
        found.append(tuple(source.count("\n", 0, stream[j].start) + 1 for j in (start, end)))
    return found


def fetches_ahead(token):
    return token.kind == "word" and any(name in token.text for name in FETCHES)


def without_fetches(stream, inside):
    """The same without statements that fetch data ahead, what they are the body of included, and without functions that
    are named so."""
    for i in [i for i, token in enumerate(stream) if fetches_ahead(token)]:
        start, end, depth = i, i, 0
        while start > 0 and (depth or stream[start - 1].text not in (";", "{", "}")):
            start -= 1
            depth += {")": 1, "(": -1}.get(stream[start].text, 0) if depth or stream[start].text == ")" else 0
        while end < len(stream) - 1 and stream[end].text not in (";", "{"):
            end += 1
        if stream[end].text == "{" and not inside[i]:  # the name of a function
            end = closing(stream, end) or end
        for j in range(start, end):
            inside[j] = False
    return inside


def without_places(stream, bodies, inside):
    """The same without the declaration of a variable that nothing uses but statements that fetch data ahead."""
    for i in range(1, len(stream) - 1):
        names = stream[i].kind == "word" and stream[i - 1].kind == "word" and stream[i + 1].text == "="
        if not names or not inside[i] or stream[i - 1].text in KEYWORDS - TYPES:
            continue
        first, last, end = i, i, i
        while bodies[first - 1]:
            first -= 1
        while bodies[last]:
            last += 1
        while stream[end].text not in (";", "{"):
            end += 1
        others = [j for j in range(first, last) if stream[j].text == stream[i].text and j != i]
        if stream[end].text == ";" and others and not any(inside[j] for j in others):
            if not any(t.text in (",", "++", "--") or (t.text.endswith("=") and t.text not in COMPARISON)
                       for t in stream[i + 2 : end]):  # fmt: skip
                for j in range(i, end):
                    inside[j] = False
    return inside


def in_table(stream, i):
    """Whether the number is one of a list of numbers, as in a table of coefficients."""
    near = [t for t in stream[max(0, i - 6) : i + 7] if t.text not in (",", "-", "{", "}")]
    return sum(t.kind == "number" for t in near) >= max(4, len(near) - 1)


def declared_array(stream, i):
    """The index of the name of the array in whose declaration the token at `i` is the number of elements, or part of a
    sum or product that is; else None."""
    start = i
    while start > 0 and stream[start].text != "[":
        if stream[start].kind not in ("number", "word") and stream[start].text not in ("+", "*", "(", ")"):
            return None
        start -= 1
    name = at = start - 1
    if name < 1 or stream[name].kind != "word" or stream[name].text in KEYWORDS:
        return None
    at -= 1
    while stream[at].text == "*":
        at -= 1
    depth = 0
    if stream[at].text == ",":  # one of several that are declared: back to the first
        while at > 0 and (depth or stream[at].text not in (";", "{", "}")):
            depth += {")": 1, "]": 1, "}": 1, "(": -1, "[": -1, "{": -1}.get(stream[at].text, 0)
            if depth < 0:
                return None
            at -= 1
        first = at + 1
        declares = stream[first].kind == "word" and stream[first + 1].kind == "word"
    else:
        first = at
        while stream[first].kind == "word":
            first -= 1
        declares = stream[first].text in (";", "{", "}") and first < at
        first += 1
    words = {token.text for token in stream[first:name]}
    declares = declares and not words & {"return", "else", "case", "goto", "extern", "typedef"}
    return name if declares and not in_record(stream, first) else None


def in_record(stream, at):
    """Whether the innermost braces around `at` are those of a struct or union."""
    depth = 0
    while at > 0 and depth >= 0:
        at -= 1
        depth += {"}": 1, "{": -1}.get(stream[at].text, 0)
    return bool({"struct", "union"} & {token.text for token in stream[max(0, at - 2) : at]})


def measured(stream, name, first, last):
    """Whether a sizeof, or a macro, is given this name in these tokens."""
    for i in range(first, last):
        if stream[i].text == "sizeof" or (stream[i].text.isupper() and stream[i + 1].text == "("):
            end = i + 1
            if stream[end].text == "(":
                end = closing(stream, end) or last
            else:
                while stream[end].kind == "word" or stream[end].text in ("*", ".", "->"):
                    end += 1
            if any(token.text == name for token in stream[i : end + 1]):
                return True
    return False


class Finder:
    """All changes of one source."""

    def __init__(self, source):
        self.source = source
        self.stream = tokens(source)
        self.bodies = in_function(self.stream)
        self.inside = without_places(self.stream, self.bodies, without_fetches(self.stream, list(self.bodies)))
        self.changes = []

    def add(self, operator, start, end, text):
        text += "\n" * (self.source.count("\n", start, end) - text.count("\n"))
        self.changes.append(Change(operator, self.source.count("\n", 0, start) + 1, start, end, text))

    def find(self):
        for i, token in enumerate(self.stream):
            if self.inside[i]:
                if token.kind == "operator":
                    self.operator(i, token)
                elif token.kind == "number" and not in_table(self.stream, i):
                    self.constant(i, token)
                elif token.kind == "word":
                    self.word(i, token)
                self.statement(i)
        return self.changes

    def operator(self, i, token):
        before = self.stream[i - 1]
        binary = before.kind in ("number", "word", "text") and before.text not in KEYWORDS or before.text in (")", "]")
        spaced = self.source[token.end : token.end + 1].isspace()  # a pointer's star is not
        if token.text in ("++", "--") or (token.text in ARITHMETIC and binary and spaced):
            self.add("arithmetic", token.start, token.end, ARITHMETIC[token.text])
        elif token.text in COMPARISON:
            for other in COMPARISON[token.text]:
                self.add("comparison", token.start, token.end, other)
        elif token.text in ("&&", "||"):
            self.add("condition", token.start, token.end, "||" if token.text == "&&" else "&&")
        elif token.text == "?":
            start = self.condition_start(i)
            if start is not None:
                first = self.stream[start].start
                self.add("condition", first, token.start, f"!({self.source[first : token.start].rstrip()}) ")

    def condition_start(self, i):
        """The index where the condition before the ? at `i` begins."""
        depth = 0
        for j in range(i - 1, 0, -1):
            text = self.stream[j].text
            depth += {")": 1, "]": 1, "(": -1, "[": -1}.get(text, 0)
            if depth < 0 or (depth == 0 and text in ("=", "return", ",", ";", "{", "}", "?", ":", "+=", "-=", "*=")):
                return j + 1
        return None

    def is_room(self, i):
        """Whether a larger number is room for elements that a local array does not have."""
        name = declared_array(self.stream, i)
        if name is None:
            return False
        first = last = i
        while first > 0 and self.bodies[first - 1]:
            first -= 1
        while last < len(self.stream) - 1 and self.bodies[last]:
            last += 1
        return not measured(self.stream, self.stream[name].text, first, last)

    def constant(self, i, token):
        if token.text == "1" or (token.text == "0" and not self.is_room(i)):
            self.add("constant", token.start, token.end, "1" if token.text == "0" else "0")
        else:
            if not self.is_room(i):
                self.add("constant", token.start, token.end, f"({token.text} + 1)")
            self.add("constant", token.start, token.end, f"({token.text} - 1)")

    def word(self, i, token):
        if token.text in ("if", "while") and self.stream[i + 1].text == "(":
            end = closing(self.stream, i + 1)
            if end is not None:
                start, stop = self.stream[i + 1].start, self.stream[end].end
                self.add("condition", start, stop, f"(!{self.source[start:stop]})")
        if token.text == "return" and self.stream[i + 1].text != ";":
            end = next(j for j in range(i, len(self.stream)) if self.stream[j].text == ";")
            start, stop = self.stream[i + 1].start, self.stream[end].start
            value = self.source[start:stop]
            if value in ("0", "VG_OK", "NULL", "false"):
                self.add("return", start, stop, "1")
            else:
                self.add("return", start, stop, "0")
                self.add("return", start, stop, f"!({value})")

    def statement(self, i):
        """An expression statement, break or continue that begins at `i`, left out."""
        token, before = self.stream[i], self.stream[i - 1]
        if before.text not in (";", "{", "}", ")", "else") or token.kind not in ("word", "operator"):
            return
        if token.text in KEYWORDS and token.text not in ("break", "continue"):
            return
        if token.kind == "operator" and token.text not in ("*", "++", "--"):
            return
        end, depth = i, 0
        while end < len(self.stream) and (depth or self.stream[end].text != ";"):
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(self.stream[end].text, 0)
            if depth < 0:
                return
            end += 1
        words = self.stream[i : end + 1]
        declares = len(words) > 1 and words[0].kind == "word" and (words[1].kind == "word" or words[1].text == "*")
        if declares or end == len(self.stream):
            return
        if token.text in ("break", "continue") or any(t.text in ("(", "=") or t.text in ARITHMETIC for t in words):
            self.add("statement", token.start, self.stream[end].start, "")


def changes_of(source):
    return Finder(source).find()


def applied(source, change):
    return source[: change.start] + change.text + source[change.end :]
