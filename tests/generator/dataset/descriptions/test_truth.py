"""Records of images: made from stored scenes, three-valued, and the same after JSON."""

import json
from types import SimpleNamespace
from typing import cast

import pytest

from generator.base.errors import UserError
from generator.dataset.descriptions.truth import ImageTruth
from generator.dataset.descriptions.vocabulary import Vocabulary
from generator.dataset.image_truths import read_truths
from generator.dataset.reader import Dataset, World
from generator.judge.geometry import RULES, Terms, read_scene
from tests.generator.unrendered import BENCHMARK


def test_relations_are_those_of_the_judge(dataset: Dataset) -> None:
    terms = Terms.from_toml(dataset.world.vocabulary_text)
    records = dict(
        zip(
            dataset.world.scenes["scene_id"].to_pylist(),
            dataset.world.scenes["scene"].to_pylist(),
            strict=True,
        )
    )
    truths = list(read_truths(dataset.world))
    assert len(truths) == sum(record is not None for record in records.values())
    seen = set()
    for truth in truths:
        scene = read_scene(records[truth.scene_id], terms)
        for name in terms.relations:
            if RULES[name].arity != 2:
                continue
            pairs = scene.decided(name, True)
            for i in range(len(truth.objects)):
                for j in range(len(truth.objects)):
                    if i == j:
                        continue
                    sure, possible = pairs.sure[i] >> j & 1, pairs.possible[i] >> j & 1
                    expected = True if sure else None if possible else False
                    assert truth.holds(name, i, j) is expected, (truth.scene_id, name, i, j)
                    seen.add(expected)
    assert {True, False} <= seen


def test_true_relations_are_the_stored_ones_each_once(related: Dataset) -> None:
    rows = related.world.scenes.select(["scene_id", "relations"]).to_pylist()
    stored = {row["scene_id"]: row["relations"] for row in rows}
    for truth in read_truths(related.world):
        facts = truth.true_relations
        assert len(facts) == len(set(facts))
        for subject, name, target in facts:
            assert {"subject": subject, "relation": name, "object": target} in stored[
                truth.scene_id
            ]
        # Every stored relation has its converse stored too.
        assert 2 * len(facts) == len(stored[truth.scene_id])


def test_held_out_bindings_and_splits_are_the_benchmarks(related: Dataset) -> None:
    benchmark = related.benchmark(BENCHMARK)
    rows = {row["scene_id"]: row for row in benchmark.splits.to_pylist()}
    truths = list(read_truths(related.world, benchmark, ["partial", "unseen", "seen"]))
    assert len(truths) == 36
    for truth in truths:
        row = rows[truth.scene_id]
        assert truth.split == row["split"]
        assert truth.tested_kind == "color"
        held_out = {binding for binding in truth.bindings if binding in truth.held_out}
        assert bool(held_out) == bool(row["held_out_bindings"])


def test_json_and_back(truths: list[ImageTruth]) -> None:
    for truth in truths[:5]:
        text = truth.to_json()
        reread = ImageTruth.read(text)
        assert reread.to_dict() == truth.to_dict() == json.loads(text)
        assert ImageTruth.read(json.loads(text)).to_json() == text
        assert reread.vocabulary is ImageTruth.read(truth.to_dict()).vocabulary


@pytest.mark.parametrize("data", ["[]", "{}", '{"scene_id": 1}', "nothing"])
def test_other_data_are_refused(data: str) -> None:
    with pytest.raises(ValueError, match=r"Expected|Expecting"):
        ImageTruth.read(data)


def test_damaged_relations_are_refused(truths: list[ImageTruth]) -> None:
    data = truths[0].to_dict()
    data["relations"] = {"right": [[None]]}
    with pytest.raises(ValueError, match="not decided for"):
        ImageTruth.from_dict(data)


@pytest.mark.parametrize("text", ["", "objects = 3", "category = 'x'\n[objects]\nx = 1", "\x00"])
def test_a_damaged_vocabulary_is_the_users_mistake(text: str) -> None:
    world = SimpleNamespace(vocabulary_text=text)
    with pytest.raises(UserError, match="cannot be read"):
        next(read_truths(cast(World, world)))
    with pytest.raises(ValueError, match=r".+"):
        Vocabulary.from_toml(text)


def test_interference_and_load(truths: list[ImageTruth]) -> None:
    for truth in truths:
        n = len(truth.objects)
        assert truth.load == n * 4  # category, color, material, size
        columns = [[each.category for each in truth.objects]]
        for kind in ("color", "material", "size"):
            columns.append([each.attributes[kind] for each in truth.objects])
        shared = sum(column.count(value) > 1 for column in columns for value in set(column))
        assert truth.interference == shared
