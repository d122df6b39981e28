"""Finds names of a vocabulary that may stand for one thing: words with look-alike letters, values
of a kind that look the same, and objects with the same mesh.

A thing with two names can be held out under one name and shown in training under the other. The
vocabulary has a check of its own (generator/vocabulary/look_alikes.py); the judge shares no code
with it.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Settings = dict[str, Any]
"""The settings of a value by their path, such as "texture.scale": numbers, words, or colours as
linear light, float64 (3,), 0..1."""

_ENGLISH = re.compile(r"[A-Za-z0-9 .,'/_-]*")
_WORDS = ("synonyms", "article", "weight")
"""Settings of a value that only say how to name it, or how frequent it is."""
_LEAST_DIFFERENCE = 2.0
"""CIEDE2000 below which only a trained eye can distinguish two colours side by side."""
_TOLERANCE = 0.02
"""Largest difference of two numbers that cannot be seen: shares, or metres."""
_MOST_VALUES = 256
"""Every pair of values is compared. The largest kind of a shipped family has 8 values."""


def look_alike_names(vocabulary: Mapping[str, Any]) -> Iterator[str]:
    """Yields a sentence for each word, pair of values and pair of objects that may be confused.

    Args:
        vocabulary: The parsed TOML of a family.
    """
    kinds = vocabulary["attributes"]
    objects = vocabulary["objects"]
    for word in _declared_words(kinds, objects):
        letters = foreign_letters(word)
        if letters:
            yield f"the word '{word}' has {letters}; spell it with the letters of English."
    for kind, values in kinds.items():
        # The family may come from a stranger, and pairs grow with the square.
        if len(values) > _MOST_VALUES:
            yield (
                f"the kind '{kind}' has {len(values):,} values, expected at most {_MOST_VALUES}; "
                f"leave some out."
            )
            continue
        for first, second in _equal_values(values):
            yield (
                f"the values '{first}' and '{second}' of {kind} look the same; make one a synonym "
                f"of the other."
            )
    yield from _shared_meshes(objects)


def foreign_letters(word: str) -> str | None:
    """The Unicode names of the letters of a word that are not English, without its accents.

    >>> foreign_letters("café"), foreign_letters("gr\\u0430y")
    (None, 'CYRILLIC SMALL LETTER A')
    """
    names = []
    # NFD separates a letter from its accents; the accents are combining characters.
    for letter in dict.fromkeys(unicodedata.normalize("NFD", word)):
        if not unicodedata.combining(letter) and not _ENGLISH.fullmatch(letter):
            names.append(unicodedata.name(letter, repr(letter)))
    return ", ".join(names) or None


def _declared_words(kinds: Mapping[str, Any], objects: Mapping[str, Any]) -> Iterator[str]:
    yield from kinds
    for table in (*kinds.values(), objects):
        for name, declared in table.items():
            yield name
            yield from declared.get("synonyms", ())
            if "plural" in declared:
                yield declared["plural"]


def _shared_meshes(objects: Mapping[str, Any]) -> Iterator[str]:
    names_by_mesh = defaultdict[str, list[str]](list)
    for name, declared in objects.items():
        names_by_mesh[declared.get("mesh", name)].append(name)
    for mesh, names in names_by_mesh.items():
        if len(names) > 1:
            yield (
                f"the objects '{names[0]}' and '{names[1]}' have one mesh, {mesh}; make one a "
                f"synonym of the other."
            )


def _equal_values(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The pairs of values of a kind of which every setting looks the same."""
    settings = {name: _settings(declared) for name, declared in values.items()}
    # A value without settings changes nothing in an image, so nothing can be said about its look.
    names = [name for name, own in settings.items() if own]
    equal = np.ones((len(names), len(names)), bool)
    paths: list[str] = []
    for name in names:
        paths += settings[name]
    for path in dict.fromkeys(paths):
        equal &= _equal_settings([settings[name].get(path) for name in names])
    for i, j in combinations(range(len(names)), 2):
        if equal[i, j]:
            yield names[i], names[j]


def _settings(declared: Any, path: str = "") -> Settings:
    """The settings of a value that an image shows, without nesting."""
    if isinstance(declared, str) and declared.startswith("#"):
        return {path: _linear_light(declared)}
    # Colours of a texture are compared place by place: exchanged, they look different.
    if isinstance(declared, list):
        declared = {str(number): part for number, part in enumerate(declared)}
    if not isinstance(declared, Mapping):
        return {path: declared}
    settings: Settings = {}
    parts = {key: part for key, part in declared.items() if key not in _WORDS}
    # A colour and its albedo are one setting: half the albedo of twice the light is the same.
    color = parts.pop("linear", None) or parts.pop("srgb", None)
    if color:
        light = _linear_light(color) if isinstance(color, str) else np.array(color) / 255
        settings[f"{path}.color"] = light * parts.pop("albedo", 1.0)
    for key, part in parts.items():
        settings |= _settings(part, f"{path}.{key}")
    return settings


def _linear_light(hexadecimal: str) -> NDArray[np.float64]:
    """The linear light (3,), 0..1, of a colour such as "#e50000" (IEC 61966-2-1)."""
    levels = [int(hexadecimal[at : at + 2], 16) for at in (1, 3, 5)]
    channels = np.array(levels) / 255
    # The curve of sRGB is a line near black.
    is_dark = channels <= 0.04045
    return np.where(is_dark, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def _equal_settings(settings: list[Any]) -> NDArray[np.bool_]:
    """Which of n values look the same in one setting, bool (n, n). A missing setting is None."""
    words = [repr(setting) for setting in settings]
    equal = np.array([[first == second for second in words] for first in words], bool)

    # Numbers and colours look the same also where they differ a little.
    numbers = []
    colors = []
    for n, setting in enumerate(settings):
        if isinstance(setting, np.ndarray):
            colors.append(n)
        elif isinstance(setting, int | float) and not isinstance(setting, bool):
            numbers.append(n)
    if numbers:
        numeric = np.array([settings[n] for n in numbers])
        close = np.abs(numeric[:, None] - numeric) <= _TOLERANCE
        equal[np.ix_(numbers, numbers)] = close
    if colors:
        light = np.array([settings[n] for n in colors])
        equal[np.ix_(colors, colors)] = _equal_colors(light)
    return equal


def _equal_colors(light: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which of n colours in linear light (n, 3) cannot be distinguished, bool (n, n)."""
    # It takes a while to load.
    from skimage.color import deltaE_ciede2000, rgb2lab

    # The sRGB curve (IEC 61966-2-1): linear near black, else a power.
    power = 1.055 * np.maximum(light, 0) ** (1 / 2.4) - 0.055
    lab = rgb2lab(np.where(light <= 0.0031308, 12.92 * light, power))
    close: NDArray[np.bool_] = deltaE_ciede2000(lab[:, None], lab[None]) < _LEAST_DIFFERENCE
    return close
