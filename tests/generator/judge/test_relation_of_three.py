"""A relation of three objects is an axis, a phrase and an entry of the judge's table."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from generator.dataset.relations import AXIS_OF, Axis
from generator.judge import decide as judge
from generator.judge.geometry import RULES, Rule, StandingObject, Terms, read_scene
from generator.judge.lexicon import Lexicon
from generator.judge.text_reader import read_text
from generator.language.form import Form, Link, Mention
from generator.language.grammar import Grammar
from generator.language.truth import Facts, decide
from generator.vocabulary.schema import read_vocabulary
from tests.generator.scenes import scene_of


def strip(step: Any, reach: Any, width: float) -> Any:
    """How far the end of a step lies within the strip of a width along a reach, metres; both as
    complex numbers."""
    length = np.maximum(np.abs(reach), 1e-9)
    turned = step * np.conj(reach) / length
    return np.minimum(np.minimum(turned.real, length - turned.real), width - np.abs(turned.imag))


def of_poses(one: Any, first: Any, second: Any, width: float) -> float:
    x, a, b = (complex(each.right, each.behind) for each in (one, first, second))
    return float(strip(x - a, b - a, width))


def of_stands(
    one: StandingObject, first: StandingObject, second: StandingObject, width: float
) -> Any:
    x, a, b = (each.right + 1j * each.away for each in (one, first, second))
    return strip(x - a, b - a, width)


def test_the_judge_decides_it_as_the_generator_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        AXIS_OF,
        "between",
        Axis(("between",), of_poses, symmetric=True, needs_distance=True, arity=3),
    )
    monkeypatch.setitem(RULES, "between", Rule(of_stands, arity=3))
    text = (
        'extends = "clevr"\n[relations]\nbetween = { phrase = "between", margin = 0.2, distance = '
        "1.0 }\n"
    )
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    vocabulary = read_vocabulary(str(tmp_path / "mine.toml"))
    grammar, lexicon, terms = (
        Grammar(vocabulary),
        Lexicon.from_toml(vocabulary.toml()),
        Terms.from_toml(vocabulary.toml()),
    )
    draw, found = random.Random(0), Counter[bool | None]()
    for _ in range(400):
        names = [draw.choice(["cube", "cone", "sphere"]) for _ in range(5)]
        places = [(draw.uniform(-1.5, 1.5), draw.uniform(-1.5, 1.5)) for _ in names]
        scene = scene_of(*[(name, {}) for name in names], positions=places, vocabulary=vocabulary)
        link = Link(0, "between", 1, draw.random() < 0.6, (2,))
        more = draw.choice(
            [(), (Link(3, "left", 0),), (link._replace(subject=3, object=0, also=(1,)),)]
        )
        form = Form(
            tuple(Mention(name) for name in draw.sample(names, 4)),
            (link, *more),
            draw.random() < 0.2,
        )
        read = read_text(
            grammar.realise(form, "not-true" if form.negated else "list-then-relate"), lexicon
        )
        assert read.to_json() == form.to_json()
        truth = judge.decide(read, read_scene(scene.to_json(), terms))
        assert truth is decide(form, Facts(scene, vocabulary)), (form, names, places)
        found[truth] += 1
    assert min(found[truth] for truth in (True, False, None)) > 20
