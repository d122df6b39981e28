"""Forms of a suite have equal counts of values, objects and combinations (docs/suite.md), and other
groups and scenes."""

from collections import Counter
from collections.abc import Iterable

import pytest

from generator.plan.minimal_pairs import plan_with_twins
from generator.plan.prepare import Prepared, prepare
from generator.scene.planned import Planned
from generator.suite.definition import read_suite
from generator.suite.forms import STANDARD, fresh_form, seeds_of
from generator.suite.making import world_options

FORMS = (STANDARD, fresh_form(1), fresh_form(2))


def prepared_forms(track: str, world: str, **changes: str) -> list[Prepared]:
    """The world of the part tiny, in three forms."""
    suite = read_suite("jackalope-1").in_part("tiny")
    declared = suite.tracks[track].worlds[world].model_copy(update=changes)
    forms = []
    for form in FORMS:
        seeds = seeds_of(suite, track, world=world, form=form)
        forms.append(prepare(world_options(declared, seeds.scenes, seeds.block)))
    return forms


def bindings_of(scene: Planned, kind: str) -> list[tuple[str, str]]:
    """The combinations that a scene shows. The row of a twin has those of its scene, and the two
    objects that exchange values."""
    bindings = scene.arrangement(kind)
    exchange = scene.exchange
    if scene.twin_of is None or exchange is None or exchange.kind is None:
        return list(bindings)
    values = [value for value, _ in bindings]
    first, second = exchange.first, exchange.second
    values[first], values[second] = values[second], values[first]
    return [(value, category) for value, (_, category) in zip(values, bindings, strict=True)]


def counts_of(scenes: Iterable[Planned], kind: str) -> tuple[Counter[str], Counter[str], Counter]:
    bindings = [binding for scene in scenes for binding in bindings_of(scene, kind)]
    values = Counter(value for value, _ in bindings)
    return values, Counter(category for _, category in bindings), Counter(bindings)


@pytest.mark.full
@pytest.mark.parametrize(
    ("track", "world"),
    [("describe", "shapes"), ("zero-shot", "things"), ("frames", "animals")],
)
def test_undivided_worlds_have_equal_counts(track: str, world: str) -> None:
    forms = prepared_forms(track, world)
    counts = [counts_of(form.planned, "color") for form in forms]
    assert counts[0] == counts[1] == counts[2]
    for of_role in counts[0]:
        assert len(set(of_role.values())) == 1
    assert len(counts[0][2]) == 8 * 12
    contents = {str([scene.objects for scene in form.planned]) for form in forms}
    assert len(contents) == len(FORMS)


@pytest.mark.full
def test_rotations_have_equal_counts_in_training_and_unseen() -> None:
    forms = prepared_forms("bind", "color-shape", scenes="train=288,val=4,partial=8,unseen=192")
    assert len({form.holdout.value_groups for form in forms}) == len(FORMS)
    tables = []
    for form in forms:
        # As planned, before all turns share all scenes.
        plan = plan_with_twins(
            form.vocabulary, form.parts, form.options.seed, exchange="values", even_bindings=True
        )
        of_split = {}
        for split in ("train", "unseen"):
            scenes = [scene for scene in plan if scene.split == split]
            of_split[split] = counts_of(scenes, "color")
        tables.append(of_split)
        for turn in range(4):
            scenes = [scene for scene in plan if scene.part == turn and scene.split == "train"]
            values, objects, bindings = counts_of(scenes, "color")
            # Each turn trains on 72 of 96 combinations.
            assert set(values.values()) == {18}
            assert set(objects.values()) == {12}
            assert set(bindings.values()) == {2}
            assert len(bindings) == 72
    assert tables[0] == tables[1] == tables[2]
    for split in ("train", "unseen"):
        for of_role in tables[0][split]:
            assert len(set(of_role.values())) == 1


def test_without_the_option_combinations_are_uneven() -> None:
    (form, *_) = prepared_forms("describe", "shapes", even_bindings=False)  # type: ignore[arg-type]
    _, _, bindings = counts_of(form.planned, "color")
    assert len(set(bindings.values())) > 1
    assert "even_bindings" not in form.request
