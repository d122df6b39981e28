"""Counts of how dense code reads, on a small file."""

from bench.density import density

TEXT = '''"""A module: its docstring is neither code nor comment."""

LIMIT = 3  # three names, operators and numbers

class Box:
    """A box."""

    width: int
    """In metres."""
    height: int

    # Why it is so deep.
    depth: int


def area(box):
    """Compute an area.

    Returns:
        Square metres.
    """
    found = box.width * box.height
    return found


def _helper():
    """Not public."""


def nothing():
    """Without a section."""
'''


def test_each_count_of_a_small_file() -> None:
    counts = density([TEXT, "def long():\n" + "    x = 1\n" * 61])
    assert (counts.fields, counts.documented_fields) == (3, 2)
    assert (counts.public_docstrings, counts.sectioned_docstrings) == (2, 1)
    assert (counts.vague_names, counts.assigned_names) == (1, 5 + 61)
    assert (counts.functions, counts.long_functions) == (4, 1)
    # LIMIT, class, three fields, a string below a field, def, two lines, two defs; and the second.
    assert counts.code_lines == 11 + 62
    assert counts.comment_lines == 1
    assert counts.tokens_per_line > 3
    assert 0.013 < counts.comment_share < 0.014
