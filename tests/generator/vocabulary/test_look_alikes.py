"""What of a family could be taken for something else: the vocabulary's check, and the judge's own."""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skimage.color import deltaE_ciede2000, rgb2lab

from generator.base.errors import UserError
from generator.judge.look_alikes import look_alike_names
from generator.vocabulary.families import shipped_families, vocabulary_text
from generator.vocabulary.look_alikes import look_alikes, strange_letters
from generator.vocabulary.schema import parse_vocabulary

CHECKS = pytest.mark.parametrize("check", [look_alikes, look_alike_names])
Check = Callable[[Mapping[str, Any]], Iterator[str]]


def extended(folder: Path, addition: str) -> str:
    """The text of CLEVR's family with an addition."""
    path = folder / "own.toml"
    path.write_text(f'extends = "clevr"\n{addition}\n', encoding="utf-8")
    return vocabulary_text(str(path))


@CHECKS
@pytest.mark.parametrize("family", shipped_families())
def test_in_shipped_families_nothing_looks_alike(family: str, check: Check) -> None:
    assert list(check(tomllib.loads(vocabulary_text(family)))) == []


@pytest.mark.parametrize(
    ("addition", "said"),
    [
        ('[attributes.color]\n"gr\u0430y" = { linear = [86, 86, 87] }', "CYRILLIC SMALL LETTER A"),
        (
            '[attributes.color]\nteal = { linear = [9, 120, 110], synonyms = ["gr\u0435en"] }',
            "CYRILLIC SMALL LETTER IE",
        ),
        ('[objects]\n"cube\u200b" = { mesh = "cone" }', "ZERO WIDTH SPACE"),
        (
            "[attributes.color]\nash = { linear = [62, 61, 63] }",
            "the values 'gray' and 'ash' of color look the same",
        ),
        (
            '[attributes.color]\nash = { srgb = "#878787" }',
            "the values 'gray' and 'ash' of color look the same",
        ),
        (
            "[attributes.material]\nsteel = { metallic = 1.0, roughness = 0.26 }",
            "'metal' and 'steel' of material",
        ),
        (
            "[attributes.size]\nhuge = { scale = 0.81 }",
            "the values 'large' and 'huge' of size look the same",
        ),
        (
            '[objects]\nbrick = { mesh = "cube" }',
            "the objects 'cube' and 'brick' have one mesh, cube",
        ),
    ],
)
def test_two_names_of_one_look_are_refused(tmp_path: Path, addition: str, said: str) -> None:
    text = extended(tmp_path, addition)
    for check in (look_alikes, look_alike_names):
        assert any(said in sentence for sentence in check(tomllib.loads(text)))
    with pytest.raises(UserError, match=said):
        parse_vocabulary(text, "own.toml")


@CHECKS
def test_other_looks_and_accents_are_allowed(tmp_path: Path, check: Check) -> None:
    text = extended(
        tmp_path,
        '[attributes.color]\n"café" = { linear = [60, 30, 10] }\n[attributes.size]\nhuge = { scale '
        "= 1.0 }",
    )
    assert list(check(tomllib.loads(text))) == []


@CHECKS
@given(st.tuples(*[st.floats(0, 255)] * 3), st.tuples(*[st.floats(0.7, 1.4)] * 3))
def test_colours_that_a_trained_eye_tells_apart_may_be_two_values(
    check: Check, one: tuple[float, float, float], times: tuple[float, float, float]
) -> None:
    other = np.minimum(np.multiply(one, times), 255).tolist()
    values = {name: {"linear": list(color)} for name, color in (("one", one), ("other", other))}
    alike = list(check({"attributes": {"color": values}, "objects": {}}))
    linear = np.clip(np.array([one, other]) / 255, 0, 1)
    encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    off = deltaE_ciede2000(*rgb2lab(encoded))
    assert bool(alike) == (off < 2)


@given(st.text(st.characters(max_codepoint=127, categories=("L", "Nd"))))
def test_letters_of_english_are_plain(word: str) -> None:
    assert strange_letters(word) is None


@CHECKS
def test_thousands_of_values_are_refused_without_comparing_all_pairs(
    tmp_path: Path, check: Check
) -> None:
    """Eight thousand colours are 32 million pairs, which took hours."""
    colors = "\n".join(
        f"c{i} = {{ linear = [{i % 20}, {i // 20 % 20}, {i // 400}] }}" for i in range(8_000)
    )
    text = extended(tmp_path, f"[attributes.color]\n{colors}")
    (sentence,) = check(tomllib.loads(text))
    assert sentence == "the kind 'color' has 8,008 values, expected at most 256; leave some out."
