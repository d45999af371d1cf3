"""Tokens of a C-like or a Python source: what rules are matched by, whatever the layout and the names in it."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
    (?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<directive>\#[ \t]*[a-z]+)
  | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<mark><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\#\#|\S)
    """,
    re.VERBOSE | re.DOTALL,
)
_PYTHON_TOKEN = re.compile(
    r"""
    (?P<comment>\#[^\n]*|\"{3}.*?\"{3}|'{3}.*?'{3})
  | (?P<string>[rbfRBF]{0,2}(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
  | (?P<number>\.?\d(?:[eE][+-]|[\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<mark>\*\*=|//=|<<=|>>=|\.\.\.|\*\*|//|->|:=|<<|>>|<=|>=|==|!=|[-+*/%&|^@]=|\S)
    """,
    re.VERBOSE | re.DOTALL,
)
_PYTHON = re.compile(r"(?m)^(?:import [\w.]+|from [\w.]+ import |def \w+\(.*)")
# fmt: off
_KEYWORDS = frozenset((
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
    "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed",
    "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "def",
    "class", "import", "from", "lambda", "fn", "let", "mut", "pub", "use", "impl", "trait", "where", "match"
))
# fmt: on
_DIRECTIVES = frozenset(
    ("#", "#include", "#define", "#undef", "#if", "#ifdef", "#ifndef", "#elif", "#else", "#endif", "#pragma")
)
_HASH_COMMENTS = re.compile(r"(?m)^def \w+\(")
"""What a source has in a language (Python, TCL) whose comments begin where C has its directives."""
NAME = "<name>"
NUMBER = "<number>"
"""What stands in a pattern for any name, or any number, of the source's own."""
WORD = "#:"
"""What stands in a pattern before a word of a directive, which is not a name of the same spelling elsewhere."""
_COMMON_WORDS = frozenset(("omp", "parallel", "for", "simd", "GCC", "clang"))


@dataclass(frozen=True)
class Token:
    """A piece of source with its place (character offsets)."""

    text: str
    start: int
    end: int
    kind: str


def is_python(source: str) -> bool:
    """Whether a source is written in Python: a line of it imports something, or begins a function, as only that does."""
    return _PYTHON.search(source) is not None


def _python_tokens(source: str) -> tuple[Token, ...]:
    """An attribute's name is a library's, whatever it would be elsewhere: a word, as those of a pragma are."""
    found: list[Token] = []
    for match in _PYTHON_TOKEN.finditer(source):
        kind = match.lastgroup or ""
        if kind == "comment":
            continue
        if kind == "name" and keyword.iskeyword(match.group()):
            kind = "keyword"
        elif kind == "name" and found and found[-1].text == ".":
            kind = "word"
        found.append(Token(match.group(), match.start(), match.end(), kind))
    return tuple(found)


def tokenize(source: str) -> tuple[Token, ...]:
    """The tokens of a source, without comments and space; of Python without docstrings too."""
    if is_python(source):
        return _python_tokens(source)
    found: list[Token] = []
    end_of_directive = -1
    if _HASH_COMMENTS.search(source):
        source = re.sub(r"#[^\n]*", lambda comment: " " * len(comment.group()), source)
    for match in _TOKEN.finditer(source):
        kind, text = match.lastgroup or "", match.group()
        if kind == "comment":
            continue
        if kind == "directive":
            text = "#" + text[1:].strip()
            end_of_directive = _end_of_line(source, match.start())
        elif kind == "name" and match.start() < end_of_directive:
            # A word of a pragma is the language's, whatever it would be elsewhere.
            kind = "word"
        found.append(Token(text, match.start(), match.end(), kind))
    return tuple(found)


def _end_of_line(source: str, start: int) -> int:
    end = source.find("\n", start)
    while end > 0 and source[end - 1] == "\\":
        end = source.find("\n", end + 1)
    return len(source) if end < 0 else end


def is_special(token: str) -> bool:
    """Whether a token says by itself what is asked of the toolchain: a reserved name, an uncommon directive.

    Names that begin with an underscore belong to the compiler, and vendors' and OpenMP's prefixes are as telling.
    """
    if token.startswith(WORD):
        return token.removeprefix(WORD) not in _COMMON_WORDS
    if token.startswith("#"):
        return token not in _DIRECTIVES
    return bool(re.match(r"_[A-Z_]|_mm\d*_|omp_|v[a-z0-9]+q?_[fsup]\d", token))


def generalized(token: Token) -> str:
    """The token as a pattern: names and numbers that the source chose itself match any other."""
    if token.kind == "word":
        return WORD + token.text
    if token.kind == "number":
        return NUMBER
    if token.kind == "name" and token.text not in _KEYWORDS and not is_special(token.text):
        return NAME
    return token.text


def matches(pattern: Sequence[Sequence[str]], tokens: Sequence[Token]) -> bool:
    """Whether every run of ``pattern`` stands somewhere in ``tokens``. A pattern without runs matches nothing."""
    return bool(pattern) and all(_stands(run, tokens) for run in pattern)


def _stands(run: Sequence[str], tokens: Sequence[Token]) -> bool:
    if not run:
        return False
    count = len(run)
    return any(all(_fits(want, tokens[at + k]) for k, want in enumerate(run)) for at in range(len(tokens) - count + 1))


def _fits(want: str, token: Token) -> bool:
    if want == NAME:
        return token.kind == "name" and token.text not in _KEYWORDS
    if want.startswith(WORD):
        return token.kind == "word" and token.text == want.removeprefix(WORD)
    return token.kind == "number" if want == NUMBER else token.text == want


def own_names(source: str) -> frozenset[str]:
    """Names in a source that it chose itself; of Python those that cannot be words of prose, as messages have them."""
    names = frozenset(t.text for t in tokenize(source) if generalized(t) == NAME)
    return frozenset(name for name in names if not name.isalpha() or not name.islower()) if is_python(source) else names


def joined(tokens: Iterable[str]) -> str:
    """Tokens as a line for a person."""
    line = " ".join(token.removeprefix(WORD) for token in tokens)
    return re.sub(r"\s+([,;)\]])", r"\1", re.sub(r"([(\[])\s+", r"\1", line))
