"""How dense code reads: tokens a line, comments, documented fields, vague names, long functions.

Counts show where to look; whether a comment says why and a name says what it holds is for a reader.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_COUNTED = (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING)
"""Kinds of tokens that a reader reads; comments and line ends do not count."""
_VAGUE = frozenset(
    {
        *("found", "asked", "said", "shown", "given", "made", "told", "drawn", "each"),
        *("these", "those", "thing", "things", "wanted", "again", "further", "begun", "kept"),
    }
)
"""Names of variables that do not say what they hold."""
_SECTION = re.compile(r"^\s*(Args|Returns|Raises|Example|Examples)\b.*:|>>>", re.MULTILINE)
LONG = 60
"""Lines after which a function is long."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Density:
    """Counts over some files of Python."""

    tokens: int = 0
    """Names, operators, numbers and strings."""
    code_lines: int = 0
    """Lines that are not empty, not a comment alone, and not of a docstring of a module, class or
    function."""
    comment_lines: int = 0
    """Lines with a comment alone."""
    fields: int = 0
    """Annotated fields of classes."""
    documented_fields: int = 0
    """Those with a string below them, or a comment above or beside them."""
    public_docstrings: int = 0
    """Docstrings of functions whose name has no underscore before it."""
    sectioned_docstrings: int = 0
    """Those with Args, Returns, Raises or an example."""
    assigned_names: int = 0
    """Assignments to variables."""
    vague_names: int = 0
    """Those to a name that does not say what it holds."""
    functions: int = 0
    """Functions and methods."""
    long_functions: int = 0
    """Those of more than LONG lines."""

    @property
    def tokens_per_line(self) -> float:
        """Tokens of a line of code."""
        return self.tokens / max(1, self.code_lines)

    @property
    def comment_share(self) -> float:
        """Share of comments among lines of code and comments, 0..1."""
        return self.comment_lines / max(1, self.code_lines + self.comment_lines)


def density(texts: Iterable[str]) -> Density:
    """Count over files.

    Args:
        texts: The text of each file.

    Returns:
        The counts.

    Example:
        >>> counts = density(["# Why.\\nshown = 1\\n"])
        >>> counts.tokens, counts.comment_share, counts.vague_names
        (3, 0.5, 1)
    """
    counts = Density()
    for text in texts:
        tree = ast.parse(text)
        _count_lines(text, tree, counts)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                _count_fields(node, text.splitlines(), counts)
            elif isinstance(node, _Function):
                _count_function(node, counts)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                counts.assigned_names += 1
                counts.vague_names += node.id in _VAGUE
    return counts


def _count_lines(text: str, tree: ast.Module, counts: Density) -> None:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        counts.tokens += token.type in _COUNTED
    in_docstrings = set(_docstring_lines(tree))
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or number in in_docstrings:
            continue
        if line.lstrip().startswith("#"):
            counts.comment_lines += 1
        else:
            counts.code_lines += 1


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    """The numbers of the lines of docstrings of modules, classes and functions."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | _Function) or not node.body:
            continue
        first = node.body[0]
        if _is_string(first):
            yield from range(first.lineno, (first.end_lineno or first.lineno) + 1)


def _is_string(node: ast.stmt | None) -> bool:
    is_expression = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_expression and isinstance(node.value.value, str)


def _count_fields(node: ast.ClassDef, lines: list[str], counts: Density) -> None:
    following: list[ast.stmt | None] = [*node.body[1:], None]
    for statement, after in zip(node.body, following, strict=True):
        if not isinstance(statement, ast.AnnAssign):
            continue
        line = lines[statement.lineno - 1]
        line_above = lines[statement.lineno - 2].strip() if statement.lineno > 1 else ""
        counts.fields += 1
        is_documented = _is_string(after) or "  #" in line or line_above.startswith("#")
        counts.documented_fields += is_documented


def _count_function(node: _Function, counts: Density) -> None:
    counts.functions += 1
    counts.long_functions += (node.end_lineno or node.lineno) - node.lineno > LONG
    docstring = ast.get_docstring(node)
    if docstring is not None and not node.name.startswith("_"):
        counts.public_docstrings += 1
        counts.sectioned_docstrings += bool(_SECTION.search(docstring))
