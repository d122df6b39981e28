"""croissant.json: valid, with the records of the tables, and refused with other bytes."""

import shutil
from itertools import islice
from pathlib import Path

import mlcroissant
import pyarrow.parquet as pq
import pytest

from generator.dataset.card import MEANING
from generator.dataset.reader import Dataset
from generator.dataset.records import BENCHMARK_TABLES, PLAN, SCENES
from tests.generator.dataset.conftest import FIRST


def test_croissant_is_valid_and_its_records_are_those_of_the_tables(made: Path) -> None:
    described = mlcroissant.Dataset(str(made / "croissant.json"))
    assert not described.metadata.ctx.issues.errors
    benchmark = Dataset.open(made).benchmark(FIRST)
    for table in BENCHMARK_TABLES:
        rows, name = getattr(benchmark, table).to_pylist(), f"{FIRST}/{table}"
        for row, record in zip(rows, islice(described.records(name), 20), strict=False):
            assert {column: plain(record[f"{name}/{column}"]) for column in row} == row


def test_croissant_reads_scenes_with_their_objects_and_images(made: Path) -> None:
    described = mlcroissant.Dataset(str(made / "croissant.json"))
    rows = {row["scene_id"]: row for row in Dataset.open(made).world.scenes.to_pylist()}
    records = list(described.records("scenes"))
    assert [plain(record["scenes/scene_id"]) for record in records] == list(rows)
    for record in records:
        row = rows[plain(record["scenes/scene_id"])]
        if row["status"] == "ok":
            first, relation = record["scenes/objects"][0], record["scenes/relations"][3]
            assert plain(first["scenes/objects/category"]) == row["objects"][0]["category"]
            assert first["scenes/objects/amodal_box"] == row["objects"][0]["amodal_box"]
            assert relation["scenes/relations/holds"] is row["relations"][3]["holds"]
            assert relation["scenes/relations/margin"] == row["relations"][3]["margin"]
        else:
            assert plain(record["scenes/reason"]) == "the lamp broke"
    images = {plain(record["images/scene_id"]): record["images/image"] for record in described.records("images")}
    assert {name: image.getpixel((0, 0))[0] for name, image in images.items()} == {name: int(name) for name in images}
    assert len(images) == 33


def plain(value: object) -> object:
    """Croissant's bytes as text."""
    if isinstance(value, bytes):
        return value.decode()
    return [plain(v) for v in value] if isinstance(value, list) else value


def test_croissant_refuses_a_table_with_other_bytes(made: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(made, tmp_path / "copy")
    shutil.copy(copy / f"benchmarks/{FIRST}/items.parquet", copy / f"benchmarks/{FIRST}/texts.parquet")
    with pytest.raises(Exception, match=rf"Download\(benchmarks/{FIRST}/texts.parquet\)"):
        next(iter(mlcroissant.Dataset(str(copy / "croissant.json")).records(f"{FIRST}/texts")))


@pytest.mark.parametrize(("table", "schema"), [("plan", PLAN), ("scenes", SCENES), *BENCHMARK_TABLES.items()])
def test_every_column_has_a_meaning(table: str, schema: object) -> None:
    assert {name for name in MEANING[table] if "/" not in name} == set(schema.names)  # type: ignore[attr-defined]


def test_croissant_describes_the_plan(made: Path) -> None:
    rows = pq.read_table(made / "world/plan.parquet").to_pylist()
    described = mlcroissant.Dataset(str(made / "croissant.json"))
    assert not described.metadata.ctx.issues.errors
    (recorded,) = [each for each in described.metadata.record_sets if each.uuid == "plan"]
    assert [field.name.rpartition("/")[2] for field in recorded.fields] == PLAN.names
    for row, record in zip(rows, described.records("plan"), strict=True):
        assert plain(record["plan/scene_id"]) == row["scene_id"]
        assert plain(record["plan/split"]) == row["split"]
        found = [plain(thing["plan/objects/category"]) for thing in record["plan/objects"]]
        assert found == [thing["category"] for thing in row["objects"]]
