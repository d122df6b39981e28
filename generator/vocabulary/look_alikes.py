"""Finds ambiguous names in a vocabulary: words with look-alike letters, values of a kind that look
the same, objects with the same mesh. A thing with two names can be held out under one name and
shown in training under the other. The judge has a check of its own.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

from generator.base.srgb import encode_srgb
from generator.vocabulary.materials import linear_of

_PLAIN_LETTERS = re.compile(r"[A-Za-z0-9 .,'/_-]*")
_LEAST_DIFFERENCE = 2.0
"""CIEDE2000 below which only a trained eye tells two colours apart, side by side."""
_MOST_CHANNEL_DIFFERENCE = 0.35
"""Difference of an sRGB channel, 0..1, that closer colours never reach. Channels are
compared first, since CIEDE2000 takes longer."""
_MOST_LIGHTNESS_DIFFERENCE = 3.5
"""Difference of L*, 0..100, that closer colours never reach: CIEDE2000 divides it by 1.75 at
most."""
_NUMBER_TOLERANCE = 0.02
"""Tolerance of numbers: shares, or metres."""
_WORD_KEYS = ("synonyms", "article")
"""Keys of a value that say nothing of how it looks."""
MOST_VALUES = 256
"""Values of a kind. All pairs of them are compared, at up to 0.1 ms a pair. The largest kind of a
shipped family has 8."""


class Color(NamedTuple):
    """Channels of sRGB, 0..1."""

    red: float
    green: float
    blue: float


def look_alikes(vocabulary: Mapping[str, Any]) -> Iterator[str]:
    """Find what could be confused in a family.

    Args:
        vocabulary: its parsed TOML.

    Yields:
        A sentence for each ambiguous word, pair of values and mesh.
    """
    kinds, objects = vocabulary["attributes"], vocabulary["objects"]
    for word in _words(kinds, objects):
        strange = strange_letters(word)
        if strange:
            yield f"the word '{word}' has {strange}; spell it with the letters of English."
    for kind, values in kinds.items():
        # A family of a stranger may have any number, and pairs grow with its square.
        if len(values) > MOST_VALUES:
            yield (
                f"the kind '{kind}' has {len(values):,} values, expected at most {MOST_VALUES}; "
                f"leave some out."
            )
            continue
        looks = {name: _look_of_value(value) for name, value in values.items()}
        for first, second in combinations(values, 2):
            if looks[first] and _is_same(looks[first], looks[second]):
                yield (
                    f"the values '{first}' and '{second}' of {kind} look the same; make one a "
                    f"synonym of the other."
                )
    names_of_mesh = defaultdict[str, list[str]](list)
    for name, spec in objects.items():
        names_of_mesh[spec.get("mesh", name)].append(name)
    for mesh, names in names_of_mesh.items():
        if len(names) > 1:
            yield (
                f"the objects '{names[0]}' and '{names[1]}' have one mesh, {mesh}; make one a "
                f"synonym of the other."
            )


def strange_letters(word: str) -> str | None:
    """Unicode names of the letters of a word that are not English; None if there are none. Accents
    are allowed.

    >>> strange_letters("café"), strange_letters("gr\\u0430y"), strange_letters("gr\\u200bay")
    (None, 'CYRILLIC SMALL LETTER A', 'ZERO WIDTH SPACE')
    """
    strange: list[str] = []
    # In NFD, an accent is a character of its own.
    for letter in unicodedata.normalize("NFD", word):
        is_plain = _PLAIN_LETTERS.fullmatch(letter) or unicodedata.combining(letter)
        if not is_plain and letter not in strange:
            strange.append(letter)
    return ", ".join(unicodedata.name(letter, repr(letter)) for letter in strange) or None


def _words(kinds: Mapping[str, Any], objects: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words of captions: kinds, values, objects, and their synonyms and plurals."""
    yield from kinds
    for table in (*kinds.values(), objects):
        for name, spec in table.items():
            yield name
            yield from spec.get("synonyms", ())
            if "plural" in spec:
                yield spec["plural"]


def _look_of_value(value: Mapping[str, Any]) -> Any:
    """The look of a value without its words."""
    return _look({key: setting for key, setting in value.items() if key not in _WORD_KEYS})


def _look(value: Any) -> Any:
    """The settings of a value, with each colour as a Color."""
    if isinstance(value, Mapping):
        return _look_of_table(value)
    if isinstance(value, list | tuple):
        return tuple(_look(entry) for entry in value)
    if isinstance(value, str) and value.startswith("#"):
        return Color(*encode_srgb(_decode(value)).tolist())
    return value


def _look_of_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a table; colour and albedo together are one colour, since only their product
    is seen."""
    look = {
        key: _look(setting)
        for key, setting in table.items()
        if key not in ("linear", "srgb", "albedo")
    }
    light = table.get("linear") or table.get("srgb")
    if light:
        # `linear` has channels of 0..255, `srgb` is text.
        if isinstance(light, list | tuple):
            channels = [channel / 255 for channel in light]
        else:
            channels = _decode(light)
        albedo = table.get("albedo", 1.0)
        look["color"] = Color(*encode_srgb([channel * albedo for channel in channels]).tolist())
    elif "albedo" in table:
        look["albedo"] = table["albedo"]
    return look


def _is_same(first: Any, second: Any) -> bool:
    """Whether two looks are the same to the eye."""
    if isinstance(first, Color) and isinstance(second, Color):
        return _is_same_color(first, second)
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(
            _is_same(first[key], second[key]) for key in first
        )
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(map(_is_same, first, second))
    if isinstance(first, float | int) and isinstance(second, float | int):
        return abs(first - second) <= _NUMBER_TOLERANCE
    return bool(first == second)


def _is_same_color(first: Color, second: Color) -> bool:
    # From the cheapest test to the dearest; most pairs end at the first.
    channel_differences = [abs(a - b) for a, b in zip(first, second, strict=True)]
    if max(channel_differences) > _MOST_CHANNEL_DIFFERENCE:
        return False
    from skimage.color import deltaE_ciede2000  # takes a while to load

    first_lab, second_lab = _lab(first), _lab(second)
    if abs(first_lab[0] - second_lab[0]) > _MOST_LIGHTNESS_DIFFERENCE:
        return False
    return bool(deltaE_ciede2000(first_lab, second_lab) < _LEAST_DIFFERENCE)


@cache
def _lab(color: Color) -> Any:
    """A colour in CIE L*a*b*."""
    from skimage.color import rgb2lab

    return rgb2lab(color)


def _decode(srgb: str) -> list[float]:
    """Red, green and blue of "#rrggbb" without the sRGB curve, 0..1."""
    return [channel / 255 for channel in linear_of(srgb)]
