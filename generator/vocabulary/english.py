"""The words for numbers, and regular plurals."""

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
ORDINALS = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
)


def plural_of(noun: str) -> str:
    """The regular plural.

    >>> [plural_of(noun) for noun in ("cube", "torus", "fox", "pony", "monkey")]
    ['cubes', 'toruses', 'foxes', 'ponies', 'monkeys']
    """
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return f"{noun}es"
    # "Pony" and "monkey" differ by the letter before the y.
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else f"{noun}s"
