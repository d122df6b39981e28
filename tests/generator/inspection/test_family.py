"""`gen vocab check`: every mistake at once, and warnings about what people could confuse."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from generator.assets.sets import find_mesh
from generator.inspection import legibility
from generator.inspection.close_colors import light_on_ball, too_close
from generator.inspection.family_check import check_family, misspelt, unreadable
from generator.inspection.outlines import SIDE, mask, surface_points
from generator.scene.scene import Camera
from generator.vocabulary.families import shipped_families
from generator.vocabulary.schema import read_vocabulary
from generator.vocabulary.tables import ObjectSpec
from tests.conftest import run_command
from tests.generator.inspection.scenes import CLEVR

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
"sea green" = { srgb = "#0b837e" }
uniform = { srgb = "#f0e8e0" }
[objects]
wolf = { mesh = "clevr-cube" }
"half knife" = { mesh = "clevr-cylinder", plural = "half knives" }
"""


RENDERED_LONG = ("photo", "pug", "pug-frames", "things", "things-frames")


@pytest.mark.parametrize(
    "family",
    [
        pytest.param(name, marks=[pytest.mark.full] if name in RENDERED_LONG else [])
        for name in sorted(shipped_families())
    ],
)
def test_shipped_families_are_without_findings(family: str) -> None:
    assert [finding for finding in check_family(family) if finding.level != "note"] == []


HEADER = (
    "family,tested,kind,name,objects,64 draft,64 standard,128 draft,128 standard,224 draft,224 "
    "standard\n"
)
MEASURED = f"""{HEADER}clevr,color,shape,cone,50,99,94.9,96,99,97,98
clevr,color,shape,cube,50,95,95,95,95,95,95
clevr,color,color,red,80,90,91,92,93,94,95
clevr,color,color,blue,80,99,99,94,99,99,99
clevr,texture,shape,cylinder,50,80,80,80,80,80,80
pug,color,animal,fox,50,80,80,80,80,80,80
"""


@pytest.fixture
def few_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "legibility.csv").write_text(MEASURED)
    monkeypatch.setattr(legibility, "TABLE", tmp_path / "legibility.csv")
    legibility.measured.cache_clear()
    yield
    legibility.measured.cache_clear()


@pytest.mark.usefixtures("few_measured")
@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ("", ["cone", "red", "blue"]),
        ('[attributes.color]\nteal = { srgb = "#0b7a75" }', ["cone", "red", "blue"]),
        ('[attributes.color]\nred = { srgb = "#ff0000" }', ["cone", "blue"]),
        ("[camera]\nlens = 61.0", []),
        ("[attributes.size]\nsmall = { scale = 0.2 }", []),
    ],
)
def test_what_few_images_showed_is_named_where_the_family_shows_the_same(
    changed: str, named: list[str], tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text(f'extends = "clevr"\n{changed}\n')
    findings = [
        finding
        for finding in check_family(str(tmp_path / "mine.toml"))
        if finding.check == "legibility"
    ]
    assert [finding.names for finding in findings] == [(name,) for name in named]
    finding_of_name = {
        finding.names[0]: (finding.level, finding.measure, finding.message) for finding in findings
    }
    if "red" in named:
        assert finding_of_name["red"] == (
            "note",
            None,
            "'red' of color is named on 94% of images of 224 pixels in the family 'clevr', "
            "expected 95%; no size that was measured is enough.",
        )
        assert finding_of_name["blue"][:2] == ("note", 224)
        assert finding_of_name["cone"] == (
            "note",
            128,
            "'cone' of shape is named on 94% of images of 64 pixels in the family 'clevr', "
            "expected 95%; take 128 or more.",
        )


def test_every_name_of_every_family_is_measured() -> None:
    measured_names = {
        (entry.family, entry.tested, entry.kind, entry.name) for entry in legibility.measured()
    }
    due = set()
    # They have the stages of clevr and pug, and some of their objects.
    for name in set(shipped_families()) - {"pearson2025", "pug-frames", "things-frames"}:
        for paint in read_vocabulary(name).paints or ("",):
            family = read_vocabulary(name).painted_with(paint)
            named = {
                kind: list(values)
                for kind, values in family.attributes.items()
                if kind not in ("size", "coat")
            }
            due |= {(name, family.tested, family.category, object_) for object_ in family.objects}
            due |= {
                (name, family.tested, kind, value)
                for kind, values in named.items()
                for value in values
            }
    assert measured_names == due
    assert len(measured_names) == len(legibility.measured())
    assert all(entry.objects >= 20 for entry in legibility.measured())
    assert all(
        0 <= percent <= 100 for entry in legibility.measured() for percent in entry.percent.values()
    )


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MISTAKEN)
    done = run_command("gen", "vocab", "check", "mine.toml", cwd=tmp_path)
    assert done.returncode == 2
    checking, *errors = done.stderr.splitlines()
    assert checking.startswith("Checking mine.toml: ")
    assert errors == [
        "error: the word 'red' means both color.red and color.teal; choose another for one of them.",
        "error: the word 'ball' means both color.teal and shape.sphere; choose another for one of "
        "them.",
        "error: relation 'near' has the opposite 'far', which is not declared; add it.",
    ]


def test_what_people_could_not_tell_apart_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(DOUBTFUL)
    done = run_command("gen", "vocab", "check", "mine.toml", "--json", cwd=tmp_path)
    assert done.returncode == 1
    findings = json.loads(done.stdout)["findings"]
    assert {finding["level"] for finding in findings} == {"warning"}
    about = {(finding["check"], *finding["names"]): finding for finding in findings}
    assert about["colors", "teal", "sea green"]["measure"] < 5
    # Their hue is that of cyan, so a cyan object in shade looks like them.
    assert about["colors", "cyan", "teal"]["measure"] < 10
    assert about["colors", "cyan", "sea green"]["measure"] < 10
    assert about["outlines", "cube", "wolf"]["measure"] > 0.95
    messages = " ".join(finding["message"] for finding in findings if finding["check"] == "words")
    assert 'plural = "wolves"' in messages
    assert "'uniform' would get the wrong article; add article = \"a\"" in messages
    assert len(findings) == 6


def test_unknown_keys_are_all_named(tmp_path: Path) -> None:
    text = 'extends = "clevr"\nflor = 1\n[attributes.color]\nteal = { sgrb = "#0b7a75" }\n'
    (tmp_path / "mine.toml").write_text(text)
    messages = " ".join(finding.message for finding in check_family(str(tmp_path / "mine.toml")))
    assert "did you mean 'srgb'" in messages
    assert "did you mean 'floor'" in messages


def with_object(name: str, **keys: str) -> list[str]:
    return list(
        misspelt(CLEVR.model_copy(update={"objects": {name: ObjectSpec(mesh="cube", **keys)}}))
    )


@pytest.mark.parametrize(
    ("name", "message_part"),
    [
        ("wolf", 'plural = "wolves"'),
        ("polar ox", 'plural = "polar oxen"'),
        ("unicorn", 'article = "a"'),
        ("hourglass", 'article = "an"'),
    ],
)
def test_irregular_words_are_named(name: str, message_part: str) -> None:
    assert [message_part in message for message in with_object(name)] == [True]


def test_words_that_are_declared_or_regular_pass() -> None:
    assert with_object("wolf", plural="wolves") == with_object("fox") == []
    assert with_object("unimpressive cube", article="an") == []


def test_a_caption_that_reads_otherwise_is_named() -> None:
    vocabulary = CLEVR.model_copy(
        update={
            "objects": {
                "cube": ObjectSpec(),
                "cube and a cone": ObjectSpec(mesh="cone"),
                "cone": ObjectSpec(),
            }
        }
    )
    assert any(
        "cube and a cone" in message for message in unreadable(vocabulary, vocabulary.toml())
    )
    assert not list(unreadable(CLEVR, CLEVR.toml()))


def test_light_from_the_camera_falls_on_a_ball_as_lambert_says() -> None:
    sun = CLEVR.lamps["sun"].model_copy(update={"energy": math.pi, "color": (1.0, 1.0, 1.0)})
    away = tuple(p - t for p, t in zip(CLEVR.camera.position, CLEVR.camera.target, strict=True))
    lit = CLEVR.model_copy(
        update={"sky": 0.0, "lamps": {"sun": sun.model_copy(update={"position": away})}}
    )
    assert light_on_ball(lit, "studio").mean() == pytest.approx(2 / 3, rel=0.02)


def test_colours_are_closer_in_the_dark() -> None:
    assert not list(too_close(CLEVR))
    dark = CLEVR.model_copy(update={"sky": 0.001, "lamps": {}})
    assert len(list(too_close(dark))) > 20


def test_the_mask_of_a_sphere_is_a_disc_without_holes() -> None:
    far = Camera((500.0, 0.0, 1.0), (0.0, 0.0, 1.0), 35.0, 32.0)
    disc_mask = mask(surface_points(find_mesh("sphere", "builtin")), 0.3, far)
    row, column = np.mgrid[:SIDE, :SIDE]
    disc = np.hypot(row - (SIDE - 1) / 2, column - (SIDE - 1) / 2) <= SIDE / 2
    assert (disc_mask != disc).mean() < 0.02
    assert disc_mask[disc & (np.hypot(row - 31.5, column - 31.5) < 29)].all()
