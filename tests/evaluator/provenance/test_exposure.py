"""What training showed, as it is recorded: equal to a plain reading of the tables."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.provenance.exposure import (
    Exposure,
    is_of_stand_in,
    read_exposure,
    recorded_exposure,
    scene_names,
)
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, Dataset, World
from tests.evaluator.audits.benchmarks import pair, write
from tests.evaluator.conftest import build_dataset

_text = st.text(max_size=5)
_words = st.none() | _text


@given(
    st.builds(
        Exposure,
        st.frozensets(st.tuples(_words, _words, _words)),
        st.frozensets(st.tuples(_text, _text, _text)),
        st.frozensets(_text),
        st.booleans(),
        st.booleans(),
    )
)
def test_an_exposure_survives_json(exposure: Exposure) -> None:
    text = json.dumps(exposure.to_dict())
    assert json.loads(text) == exposure.to_dict()  # lists, as they are read again
    assert Exposure.from_dict(json.loads(text)) == exposure
    assert json.dumps(Exposure.from_dict(json.loads(text)).to_dict()) == text


def test_of_two_trainings_only_what_both_tell_is_known() -> None:
    whole, corpus = (
        Exposure(scenes=frozenset("a")),
        Exposure(scenes=frozenset("b"), described=False),
    )
    assert whole | corpus == Exposure(scenes=frozenset("ab"), described=False)
    assert (whole | Exposure(complete=False)).described


def test_only_what_stems_from_pretrain_is_a_stand_in() -> None:
    assert not is_of_stand_in({})
    assert not is_of_stand_in({"method": "scratch"})
    assert is_of_stand_in({"method": "pretrain"})
    assert is_of_stand_in(
        {"method": "finetune", "base": {"model": "jackalope:a", "stand_in": True}}
    )
    assert not is_of_stand_in(
        {"method": "finetune", "base": {"model": "jackalope:b", "stand_in": False}}
    )


def _train(benchmark: Benchmark) -> tuple[list[str], list[str]]:
    """The training scenes, and the texts that are true of them, without those that deny
    something."""
    items = {
        row["item_id"] for row in benchmark.items_of("train").to_pylist() if row["kind"] == "plain"
    }
    rows = [row for row in benchmark.candidates.to_pylist() if row["item_id"] in items]
    return sorted({row["scene_id"] for row in rows}), sorted(
        {row["text_id"] for row in rows if row["truth"]}
    )


def test_training_shows_what_its_scenes_hold_and_no_held_out_binding(
    world: World, benchmark: Benchmark
) -> None:
    scenes, texts = _train(benchmark)
    exposure: Any = read_exposure(world, benchmark, scenes=scenes, texts=texts)
    object_values, related = set(), set()
    for row in world.scenes.to_pylist():
        if row["scene_id"] in scenes:
            for obj in row["objects"]:
                object_values |= {
                    (kind, value, obj["category"]) for kind, value in obj["attributes"]
                }
            for relation in row["relations"]:
                ends = [row["objects"][relation[end]]["category"] for end in ("subject", "object")]
                related.add((ends[0], relation["relation"], ends[1]))
    assert {entry for entry in exposure.objects if entry[0]} == object_values
    assert {category for kind, _, category in exposure.objects if kind is None} == {
        category for _, _, category in object_values
    }
    assert exposure.triples == related
    held_out = {
        ("color", value, category) for value, category in benchmark.holdout_block()["bindings"]
    }
    assert len(held_out) == 9
    assert not held_out & exposure.objects


def test_bindings_that_a_text_names_count_as_shown(world: World, benchmark: Benchmark) -> None:
    value, category = benchmark.holdout_block()["bindings"][0]
    naming = [
        row["text_id"]
        for row in benchmark.texts.to_pylist()
        if any(
            m["category"] == category and m["attributes"].get("color") == value
            for m in json.loads(row["form"])["objects"]
        )
    ]
    exposure: Any = read_exposure(world, benchmark, scenes=[], texts=naming[:1])
    assert ("color", value, category) in exposure.objects
    assert exposure.scenes == frozenset()


def test_relations_of_texts_count_between_things_that_they_name(world: World) -> None:
    mentions = [
        {"category": name, "attributes": {}, "without": {"color": "red"}}
        for name in ("cube", None, "cone")
    ]
    form = {
        "objects": mentions,
        "relations": [[0, "left", 1, True], [1, "behind", 0, True], [0, "left", 2, False]],
    }
    form["relations"].append([0, "between", 2, True, 1])
    benchmark: Any = SimpleNamespace(texts=pa.table({"text_id": ["t"], "form": [json.dumps(form)]}))
    exposure: Any = read_exposure(world, benchmark, scenes=[], texts=["t"])
    assert exposure.triples == {("cube", "left", "cone"), ("cube", "between", "cone")}
    assert ("color", "red", "cube") in exposure.objects


@pytest.mark.full
def test_a_scene_is_known_in_another_dataset(world: World, tmp_path: Path) -> None:
    """The same scene as another image (say, of another size), and the same image without its
    record, are still it."""
    ids = ["000000", "000001"]
    names = scene_names(world, ids)
    other = World(build_dataset(tmp_path / "other", seed=4) / "world")
    assert not names["000000"] & names["000001"]
    assert not set().union(*scene_names(other, ids).values()) & set().union(*names.values())
    same_world = World(build_dataset(tmp_path / "again") / "world")
    same_world.sums["images/000000.png"] = "0" * 64
    assert scene_names(same_world, ids)["000000"] & names["000000"]
    assert scene_names(same_world, ids)["000000"] != names["000000"]


def test_exposure_that_is_not_recorded_is_unknown(tmp_path: Path) -> None:
    elsewhere = Dataset.open(write(tmp_path / "elsewhere", [pair("a red cube", "a blue cube")]))
    texts = elsewhere.benchmark().texts["text_id"].to_pylist()
    assert read_exposure(elsewhere.world, elsewhere.benchmark(), scenes=[], texts=texts) is None
    assert recorded_exposure(tmp_path) is None
    (tmp_path / "jackalope.json").write_text("{}")
    assert recorded_exposure(tmp_path) is None
    for damaged in (
        '{"exposure": []}',
        '{"exposure": {"objects": [[1]], "triples": [], "scenes": []}}',
        '{"exposure": 3}',
    ):
        (tmp_path / "jackalope.json").write_text(damaged)
        with pytest.raises(
            UserError, match=r"jackalope\.json is damaged: its `exposure` cannot be read"
        ):
            recorded_exposure(tmp_path)
