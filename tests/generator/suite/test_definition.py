"""Declarations of suites: what is shipped is whole, parts change what they say, mistakes are one
sentence."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from generator.describe.benchmark import write_benchmarks
from generator.describe.request import read_text_preset
from generator.plan.options import WorldOptions
from generator.plan.prepare import plan_world, prepare
from generator.suite.definition import (
    PARTS,
    digests_path,
    read_suite,
    suite_names,
    suite_path,
)
from generator.suite.digests import plan_digest, read_published, texts_digest
from generator.suite.forms import STANDARD, check_form, fresh_form, seeds_of
from generator.suite.making import read_making, write_texts
from tests.generator.unrendered import write_planned
from tests.paths import CHECKOUT

QUICK_PLANS = {("tiny", "zero-shot/things"), ("tiny", "describe/shapes")}
"""Plans that take a second."""
SMALL = """
name = "own"
version = 2
about = "Mine."
[tracks.one]
about = "A track."
[tracks.one.worlds.a]
about = "A world."
family = "clevr"
holdout = ["none"]
scenes = "20"
resolution = "48x48"
texts = [{ name = "more", protocols = ["confusion"] }]
runs = [{ protocols = ["pairs"] }, { benchmark = "more" }]
parts.tiny = { left_out = true }
[tracks.one.worlds.b]
about = "Another."
family = "clevr"
holdout = ["none"]
scenes = "20"
resolution = "48x48"
runs = [{ command = "ask", form = "describe" }]
parts.tiny = { scenes = "4", quality = "draft" }
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_shipped_suite_has_its_tracks_in_both_parts() -> None:
    assert suite_names() == ["jackalope-1"]
    suite = read_suite("jackalope-1")
    assert suite.full_name == "jackalope-1"
    for part in PARTS:
        assert list(suite.in_part(part).tracks) == ["bind", "zero-shot", "frames", "describe"]
    assert [name for name, track in suite.tracks.items() if track.trained] == ["bind"]
    tiny = {(track, world) for track, world, _ in suite.in_part("tiny").worlds()}
    assert tiny < {(track, world) for track, world, _ in suite.worlds()}


@pytest.mark.parametrize("part", PARTS)
def test_every_world_of_the_shipped_suite_can_be_planned(part: str) -> None:
    for track, name, world in read_suite("jackalope-1").in_part(part).worlds():
        options = world.model_dump(
            exclude={"about", "quality", "outputs", "texts", "runs", "parts"}
        )
        prepared = prepare(WorldOptions(**options))
        assert prepared.vocabulary.name.startswith(world.family), (track, name)
        for texts in world.texts:
            if texts.preset is not None:
                read_text_preset(texts.preset)


def test_a_part_changes_only_what_it_names(tmp_path: Path) -> None:
    suite = read_suite(written(tmp_path, SMALL))
    (tiny,) = suite.in_part("tiny").worlds()
    full = {world: declared for _, world, declared in suite.in_part("full").worlds()}
    assert tiny[:2] == ("one", "b")
    assert tiny[2].model_dump() == {
        **full["b"].model_dump(),
        "scenes": "4",
        "quality": "draft",
    }
    # Independent of the models: what the file says.
    declared = tomllib.loads(SMALL)["tracks"]["one"]["worlds"]["a"]
    assert full["a"].model_dump(exclude_unset=True, mode="json", exclude={"parts"}) == {
        key: value for key, value in declared.items() if key != "parts"
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version = 2\n", "", "version is missing"),
        ("version = 2", "version = 0", "greater than or equal to 1"),
        ('scenes = "20"', 'scene = "20"', "scene"),
        ('name = "own"', 'name = "Own Suite"', "name"),
        ('benchmark = "more"', 'benchmark = "less"', "which no texts make"),
        ('{ protocols = ["pairs"] }', '{ form = "describe" }', 'for runs with command = "ask"'),
        ('form = "describe"', 'form = "sing"', "form"),
        (
            'texts = [{ name = "more", protocols = ["confusion"] }]',
            'texts = [{ name = "more" }, { name = "more" }]',
            "two texts are named 'more'",
        ),
        ("parts.tiny = { left_out", "parts.huge = { left_out", "huge"),
        ('name = "own"', "name = ", "not valid TOML"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SMALL
    path = written(tmp_path, SMALL.replace(old, new, 1))
    with pytest.raises(UserError, match=message) as raised:
        read_suite(path)
    assert str(path) in raised.value.message
    assert "\n" not in raised.value.message


def test_names_that_are_unknown(tmp_path: Path) -> None:
    suite = read_suite(written(tmp_path, SMALL))
    with pytest.raises(UserError, match="did you mean 'tiny'"):
        suite.in_part("tiney")
    with pytest.raises(UserError, match="Unknown track 'two'"):
        suite.in_part("full", ["two"])
    with pytest.raises(UserError, match="did you mean 'jackalope-1'"):
        read_suite("jackalope-2")
    with pytest.raises(UserError, match="Cannot read the suite"):
        read_suite(tmp_path / "missing.toml")
    with pytest.raises(UserError, match="leaves out all worlds"):
        read_suite(
            written(tmp_path, SMALL.replace('scenes = "4", quality = "draft"', "left_out = true"))
        ).in_part("tiny")


def test_digests_lie_beside_the_declaration() -> None:
    path = suite_path("jackalope-1")
    assert path == CHECKOUT / "scenes/suites/jackalope-1.toml"
    assert digests_path(path) == CHECKOUT / "scenes/suites/jackalope-1.digests.toml"


def test_seeds_differ_between_worlds_and_forms(tmp_path: Path) -> None:
    suite = read_suite(written(tmp_path, SMALL))
    seeds = [
        seeds_of(suite, track, world=world, form=form)
        for track, world, _ in suite.worlds()
        for form in (STANDARD, fresh_form(1), fresh_form(11))
    ]
    newer = suite.model_copy(update={"version": 3})
    seeds.append(seeds_of(newer, "one", world="a", form=STANDARD))
    for kind in ("scenes", "block", "texts"):
        assert len({getattr(seed, kind) for seed in seeds}) == len(seeds)
    # By hand: sha256sum of own/2/one/a/standard.
    digest = subprocess.run(
        ["sha256sum"], input=b"own/2/one/a/standard", capture_output=True, check=True
    ).stdout[:64]
    assert seeds[0].scenes == int(digest[:16], 16) % 2**31
    assert seeds[0].block == int(digest[16:32], 16) % 10**6


def test_forms_have_two_kinds_of_names() -> None:
    assert check_form("fresh-12") == "fresh-12"
    for form in ("fresh", "fresh--1", "fresh-01", "Standard", "fresh-1/../x"):
        with pytest.raises(UserError, match="Expected a form"):
            check_form(form)


def test_the_loader_is_light() -> None:
    """The evaluator reads it, and knows nothing else of the generator but its base."""
    code = (
        "import sys, generator.suite.record, generator.suite.forms;"
        "print(*{name.split('.')[1] for name in sys.modules if name.startswith('generator.')})"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert set(process.stdout.split()) == {"base", "suite"}


PUBLISHED = read_published(digests_path(suite_path("jackalope-1")))


def test_every_world_of_the_shipped_suite_has_published_digests() -> None:
    suite = read_suite("jackalope-1")
    for part in PARTS:
        keys = [f"{track}/{world}" for track, world, _ in suite.in_part(part).worlds()]
        assert list(PUBLISHED.parts[part]) == keys
    for key, world in PUBLISHED.parts["tiny"].items():
        assert world.images, key
        assert world.texts, key


@pytest.mark.parametrize(
    ("part", "key"),
    [
        pytest.param(
            part,
            key,
            marks=[] if (part, key) in QUICK_PLANS else pytest.mark.full,
            id=f"{part} {key}",
        )
        for part, worlds in PUBLISHED.parts.items()
        for key in worlds
    ],
)
def test_plans_have_the_published_digests(part: str, key: str, tmp_path: Path) -> None:
    """If this fails, a change has altered a published world: see docs/suite.md, Versions."""
    (job,) = [job for job in read_making("jackalope-1", part=part).jobs() if job.key == key]
    plan_world(job.prepared, tmp_path)
    assert plan_digest(tmp_path) == PUBLISHED.parts[part][key].plan


@pytest.mark.full
@pytest.mark.parametrize(
    "key",
    # Own directions depend on where objects stand, and so on the shape of the image, which worlds
    # without rendering do not have.
    [key for key in PUBLISHED.parts["tiny"] if not key.startswith("frames/")],
)
def test_texts_have_the_published_digests(key: str, tmp_path: Path) -> None:
    (job,) = [job for job in read_making("jackalope-1", part="tiny").jobs() if job.key == key]
    write_planned(tmp_path, job.prepared)
    write_benchmarks(tmp_path, Dataset.open(tmp_path).world, exposed_negatives=False)
    write_texts(job, tmp_path)
    assert texts_digest(Dataset.open(tmp_path)) == PUBLISHED.parts["tiny"][key].texts
