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

_PLAIN = re.compile(r"[A-Za-z0-9 .,'/_-]*")
_CLOSE = 2.0  # CIEDE2000 below which only a trained eye tells two colours apart, side by side
_FAR = 0.35  # difference of an sRGB channel, 0..1, that closer colours never reach
# difference of L*, 0..100, that closer colours never reach: CIEDE2000 divides it by 1.75 at most
_LIGHTER = 3.5
_NUMBERS = 0.02  # tolerance of numbers: shares, or metres
_WORDS = ("synonyms", "article")
MOST_VALUES = 256
"""Values of a kind. All pairs of them are compared, at up to 0.1 ms a pair. The largest kind of a
shipped family has 8."""


class Color(NamedTuple):
    """Channels of sRGB, 0..1."""

    red: float
    green: float
    blue: float


def look_alikes(vocabulary: Mapping[str, Any]) -> Iterator[str]:
    """Yields a sentence for each ambiguous word, pair of values and mesh of a family. `vocabulary`:
    its parsed TOML."""
    kinds, objects = vocabulary["attributes"], vocabulary["objects"]
    for word in _words(kinds, objects):
        if strange := strange_letters(word):
            yield f"the word '{word}' has {strange}; spell it with the letters of English."
    for kind, values in kinds.items():
        if len(values) > MOST_VALUES:
            yield (
                f"the kind '{kind}' has {len(values):,} values, expected at most {MOST_VALUES}; "
                f"leave some out."
            )
            continue
        looks = {
            name: _look({key: given for key, given in value.items() if key not in _WORDS})
            for name, value in values.items()
        }
        for one, other in combinations(values, 2):
            if looks[one] and _same(looks[one], looks[other]):
                yield (
                    f"the values '{one}' and '{other}' of {kind} look the same; make one a synonym "
                    f"of the other."
                )
    named = defaultdict[str, list[str]](list)
    for name, told in objects.items():
        named[told.get("mesh", name)].append(name)
    for mesh, names in named.items():
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
    plain = "".join(
        letter for letter in unicodedata.normalize("NFD", word) if not unicodedata.combining(letter)
    )
    strange = dict.fromkeys(letter for letter in plain if not _PLAIN.fullmatch(letter))
    return ", ".join(unicodedata.name(letter, repr(letter)) for letter in strange) or None


def _words(kinds: Mapping[str, Any], objects: Mapping[str, Any]) -> Iterator[str]:
    yield from kinds
    for table in (*kinds.values(), objects):
        for name, told in table.items():
            yield from (
                name,
                *told.get("synonyms", ()),
                *([told["plural"]] if "plural" in told else ()),
            )


def _look(value: Any) -> Any:
    """The settings of a value, with each colour as a Color."""
    if isinstance(value, Mapping):
        known = {
            key: _look(given)
            for key, given in value.items()
            if key not in ("linear", "srgb", "albedo")
        }
        if light := value.get("linear") or value.get("srgb"):
            channels = (
                [channel / 255 for channel in light]
                if isinstance(light, list | tuple)
                else _decoded(light)
            )
            known["color"] = Color(
                *(_encoded(channel * value.get("albedo", 1.0)) for channel in channels)
            )
        elif "albedo" in value:
            known["albedo"] = value["albedo"]
        return known
    if isinstance(value, list | tuple):
        return tuple(map(_look, value))
    return (
        Color(*map(_encoded, _decoded(value)))
        if isinstance(value, str) and value.startswith("#")
        else value
    )


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Color) and isinstance(other, Color):
        return _same_color(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float | int) and isinstance(other, float | int):
        return abs(one - other) <= _NUMBERS
    return bool(one == other)


def _same_color(one: Color, other: Color) -> bool:
    if max(abs(a - b) for a, b in zip(one, other, strict=True)) > _FAR:
        return False
    from skimage.color import deltaE_ciede2000  # takes a while to load

    first, second = _lab(one), _lab(other)
    return bool(abs(first[0] - second[0]) <= _LIGHTER and deltaE_ciede2000(first, second) < _CLOSE)


@cache
def _lab(color: Color) -> Any:
    from skimage.color import rgb2lab

    return rgb2lab(color)


def _decoded(srgb: str) -> list[float]:
    channels = [int(srgb[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels
    ]


def _encoded(channel: float) -> float:
    return 12.92 * channel if channel <= 0.0031308 else 1.055 * channel ** (1 / 2.4) - 0.055
