"""Untested attributes: as frequent as their weights, whatever is tested."""

import tomllib
from collections import Counter
from pathlib import Path

import pytest
import tomli_w

from generator.base.errors import UserError
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from generator.scene.planned import Planned
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.schema import parse_vocabulary, read_vocabulary


def weighted_family(path: Path, **weights: int) -> str:
    """Write the family clevr with these weights of its materials; returns its path."""
    tables = tomllib.loads(vocabulary_text("clevr"))
    for name, weight in weights.items():
        tables["attributes"]["material"][name]["weight"] = weight
    path.write_text(tomli_w.dumps(tables))
    return str(path)


def planned_scenes(family: str) -> list[Planned]:
    scenes = {"train": 60, "val": 6, "seen": 24, "partial": 24, "unseen": 24}
    options = WorldOptions(family=family, holdout="3x3", scenes=scenes, pairs=False)
    return prepare(options).planned


def test_a_weight_of_two_doubles_a_value_in_every_split_and_with_every_color(
    tmp_path: Path,
) -> None:
    plan = planned_scenes(weighted_family(tmp_path / "metallic.toml", metal=2))
    in_split: dict[str | None, Counter[str]] = {}
    with_color: dict[str, Counter[str]] = {}
    for scene in plan:
        for _, attributes in scene.objects:
            in_split.setdefault(scene.split, Counter())[attributes["material"]] += 1
            if scene.split == "train":
                counts = with_color.setdefault(attributes["color"], Counter())
                counts[attributes["material"]] += 1
    assert in_split["train"] == {"metal": 80, "rubber": 40}
    for counts in in_split.values():
        assert abs(counts["metal"] - 2 * counts["rubber"]) <= 2
    for counts in with_color.values():
        assert abs(counts["metal"] - 2 * counts["rubber"]) <= 2


def test_equal_weights_change_no_plan_and_weights_no_look(tmp_path: Path) -> None:
    family = weighted_family(tmp_path / "clevr.toml", metal=1, rubber=1)
    assert planned_scenes(family) == planned_scenes("clevr")
    weighted = read_vocabulary(weighted_family(tmp_path / "weighted.toml", metal=3))
    plain = read_vocabulary("clevr")
    for name, value in weighted.attributes["material"].items():
        assert value.inputs() == plain.attributes["material"][name].inputs()


@pytest.mark.parametrize("weight", ["0", "1.5", "101"])
def test_a_weight_is_a_whole_number_from_1_to_100(weight: str) -> None:
    text = vocabulary_text("clevr").replace("metal = {", f"metal = {{ weight = {weight},", 1)
    assert f"weight = {weight}" in text
    with pytest.raises(UserError, match="weight"):
        parse_vocabulary(text, "clevr")
