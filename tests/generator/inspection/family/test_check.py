"""`gen vocab check`: every mistake at once, and warnings about what people could confuse."""

import json
from pathlib import Path

import pytest

from generator.inspection.family.check import check_family
from generator.vocabulary.families import shipped_families
from tests.conftest import run_command

MISTAKEN = """
extends = "clevr"
[attributes.color]
teal = { srgb = "#0b7a75", synonyms = ["red", "ball"] }
[relations]
near = { phrase = "near", margin = 0.2, distance = 2.5 }
"""


DOUBTFUL = """
extends = "clevr"
[attributes.color]
teal = { srgb = "#0b7a75" }
"sea green" = { srgb = "#0b7d78" }
uniform = { srgb = "#f0e8e0" }
[objects]
wolf = { mesh = "cube" }
"half knife" = { mesh = "cross", plural = "half knives", turn = 60 }
"""


@pytest.mark.parametrize(
    "family",
    [pytest.param(name, marks=[pytest.mark.full] if name == "pug" else []) for name in sorted(shipped_families())],
)
def test_shipped_families_are_without_findings(family: str) -> None:
    assert check_family(family) == []


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MISTAKEN)
    done = run_command("gen", "vocab", "check", "mine.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "error: the word 'red' means both color.red and color.teal; choose another for one of them.",
        "error: the word 'ball' means both color.teal and shape.sphere; choose another for one of them.",
        "error: relation 'near' has the opposite 'far', which is not declared; add it.",
    ]


def test_what_people_could_not_tell_apart_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(DOUBTFUL)
    done = run_command("gen", "vocab", "check", "mine.toml", "--json", cwd=tmp_path)
    assert done.returncode == 1
    found = json.loads(done.stdout)["findings"]
    assert {each["level"] for each in found} == {"warning"}
    about = {(each["check"], *each["names"]): each for each in found}
    assert 0 < about["colors", "teal", "sea green"]["measure"] < 3
    assert about["outlines", "cube", "wolf"]["measure"] == about["outlines", "cross", "half knife"]["measure"] == 1
    said = [each["message"] for each in found if each["check"] == "words"]
    assert any('plural = "wolves"' in message for message in said)
    assert any("'uniform' would be said with the wrong article; add article = \"a\"" in message for message in said)
    assert len(found) == 5


def test_unknown_keys_are_all_named(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'extends = "clevr"\nflor = 1\n[attributes.color]\nteal = { sgrb = "#0b7a75" }\n'
    )
    said = [each.message for each in check_family(str(tmp_path / "mine.toml"))]
    assert any("did you mean 'srgb'" in message for message in said)
    assert any("did you mean 'floor'" in message for message in said)
