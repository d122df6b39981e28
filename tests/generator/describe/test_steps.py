"""The questions of ladders: the same at every step, verified, and refused if a step is forged."""

import json
from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generator.base.files import read_json
from generator.dataset.reader import Benchmark, Dataset
from generator.inspection.reproduction import Reproduction
from generator.judge.verify import verify_dataset
from generator.scene.ladder import FACTORS
from tests.generator.ladders import write_ladder


def questions(benchmark: Benchmark) -> dict[str, set[tuple[str, str]]]:
    """The (true text, false text) of the items of each kind."""
    kind_of = dict(
        zip(
            benchmark.items["item_id"].to_pylist(), benchmark.items["kind"].to_pylist(), strict=True
        )
    )
    text_of = dict(
        zip(
            benchmark.texts["text_id"].to_pylist(), benchmark.texts["text"].to_pylist(), strict=True
        )
    )
    texts: dict[str, dict[bool, str]] = defaultdict(dict)
    for row in benchmark.candidates.to_pylist():
        texts[row["item_id"]][row["truth"]] = text_of[row["text_id"]]
    of_kind = defaultdict(set)
    for item_id, two in texts.items():
        of_kind[kind_of[item_id]].add((two[True], two[False]))
    return of_kind


@pytest.mark.parametrize("factor", FACTORS)
def test_a_ladder_is_verified_and_asks_the_same_at_every_step(factor: str, tmp_path: Path) -> None:
    dataset = write_ladder(tmp_path / "ladder", factor, scenes=4)
    (certificate,) = verify_dataset(dataset.root, None, reproduce=Reproduction()).values()
    assert (certificate["status"], certificate["reproduced"]) == ("clean", True)

    benchmark = dataset.benchmark(f"ladder-{factor}")
    of_kind = questions(benchmark)
    assert len(of_kind) == 4
    for kind, pairs in of_kind.items():
        # Both orders of mention for each scene; and each caption is the foil of another scene.
        assert len(pairs) == 8
        assert {(false, true) for true, false in pairs} == pairs
        if factor == "caption-length":
            n_named = int(kind.split()[1])
            assert {true.count(" and ") + true.count(", ") for true, _ in pairs} == {n_named - 1}
    if factor != "caption-length":
        assert len({frozenset(pairs) for pairs in of_kind.values()}) == 1


def test_a_forged_step_is_not_made_again(tmp_path: Path) -> None:
    root = write_ladder(tmp_path / "ladder", "contrast", scenes=2).root
    path = root / "world" / "scenes.parquet"
    table = pq.read_table(path)
    scenes = [json.loads(scene) for scene in table["scene"].to_pylist()]
    scenes[2]["camera"]["lens"] += 1
    column = pa.array([json.dumps(scene) for scene in scenes], pa.string())
    place = table.schema.get_field_index("scene")
    pq.write_table(table.set_column(place, table.schema.field(place), column), path)
    (reproduced,) = Reproduction()(root, ["ladder-contrast"])().values()
    assert any("scenes.parquet" in str(finding) for finding in reproduced.findings)


def test_other_protocols_are_written_over_a_ladder(tmp_path: Path) -> None:
    from generator.api import describe

    root = write_ladder(tmp_path / "ladder", "distractors", scenes=2).root
    benchmark = describe(root, protocols=["binary"], name="other")
    assert benchmark.items.num_rows > 0
    assert "steps" not in Dataset.open(root).benchmark("other").items["protocol"].to_pylist()


def test_a_world_without_ladders_has_no_steps(relations_world: Path) -> None:
    dataset = Dataset.open(relations_world)
    manifest = read_json(relations_world / "world" / "manifest.json")
    assert "ladder" not in manifest["request"]
    for name in dataset.benchmark_names():
        texts = dataset.benchmark(name).manifest["texts"]
        assert not any("steps" in key for key in (*texts["items"], *texts["dropped"]))
