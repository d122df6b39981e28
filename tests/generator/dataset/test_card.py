"""The card of a dataset: what README.md and croissant.json say is true of the files beside them."""

import json
import re
import shutil
import subprocess
from itertools import islice
from pathlib import Path

import mlcroissant
import pytest
import yaml

from generator.base.files import write_json
from generator.dataset.card import write_card
from generator.dataset.reader import Dataset
from generator.dataset.records import BENCHMARK_TABLES
from generator.dataset.writer import WorldWriter, write_benchmark, write_index
from generator.render.settings import find_device
from tests.generator.dataset.conftest import FIRST, OTHER, make_dataset


@pytest.fixture(scope="module")
def readme(small_dataset: Path) -> str:
    return (small_dataset / "README.md").read_text(encoding="utf-8")


def block(readme: str, language: str, containing: str) -> str:
    """The code block of the README in that language with that word."""
    return next(
        code
        for code in re.findall(rf"```{language}\n(.*?)```", readme, re.DOTALL)
        if containing in code
    )


def test_two_makings_have_one_card(small_dataset: Path, tmp_path: Path) -> None:
    elsewhere = make_dataset(tmp_path / "another name")
    for name in ("README.md", "croissant.json"):
        before = (small_dataset / name).read_bytes()
        write_card(small_dataset)
        assert (small_dataset / name).read_bytes() == before == (elsewhere / name).read_bytes()
        assert str(small_dataset) not in before.decode()


def test_the_readme_says_what_the_world_and_benchmarks_are(readme: str) -> None:
    assert "| scenes | 34, of which 1 failed and are in no split |" in readme
    assert "| resolution | 64 x 48 pixels |" in readme
    assert "| seed of the scenes | 9 |" in readme
    counts = re.search(rf"\| {FIRST} \| color .* with shape .* \(block seed 2\) \|(.*)\|\n", readme)
    assert counts
    assert sum(map(int, counts[1].split("|"))) == 33
    assert f"- {OTHER}: train negatives show held-out bindings (--exposed-negatives)." in readme


def test_the_front_matter_is_yaml_and_its_tables_load(
    small_dataset: Path, readme: str, tmp_path: Path
) -> None:
    front = yaml.safe_load(readme.split("---\n")[1])
    assert front["size_categories"] == ["n<1K"]
    assert "license" not in front
    assert all((small_dataset / config["data_files"]).exists() for config in front["configs"])
    datasets = pytest.importorskip("datasets")
    texts = datasets.load_dataset(str(small_dataset), f"{FIRST}-texts", cache_dir=str(tmp_path))[
        "train"
    ]
    assert (
        texts["text"][:] == Dataset.open(small_dataset).benchmark(FIRST).texts["text"].to_pylist()
    )


def test_the_reading_example_runs(
    small_dataset: Path,
    readme: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(small_dataset)
    exec(compile(block(readme, "python", "Dataset.open"), "README.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert all(Path(line.split()[0]).exists() for line in lines)


def test_the_sums_can_be_checked_as_the_readme_says(
    small_dataset: Path, readme: str, tmp_path: Path
) -> None:
    check = next(
        line for line in block(readme, "sh", "sha256sum").splitlines() if "sha256sum" in line
    )
    copy = shutil.copytree(small_dataset, tmp_path / "copy")
    assert (
        subprocess.run(["bash", "-c", check], cwd=copy, capture_output=True, check=False).returncode
        == 0
    )
    (copy / "benchmarks" / FIRST / "pools.parquet").write_bytes(b"")
    assert (
        b"FAILED"
        in subprocess.run(["bash", "-c", check], cwd=copy, capture_output=True, check=False).stdout
    )


def test_the_render_command_renders_this_folder(readme: str) -> None:
    (command,) = block(readme, "sh", "gen render").splitlines()
    assert command == f"gen render --from . --device {find_device('auto')} --out ../again"


def test_a_world_without_benchmarks_has_a_card(small_dataset: Path, tmp_path: Path) -> None:
    root = tmp_path / "bare"
    shutil.copytree(small_dataset / "world", root / "world")
    write_index(root)
    assert "None yet" in (root / "README.md").read_text()
    assert "configs" not in (root / "README.md").read_text()
    assert [
        r.id for r in mlcroissant.Dataset(str(root / "croissant.json")).metadata.record_sets
    ] == [
        "images",
        "plan",
        "scenes",
    ]


def test_a_benchmark_made_elsewhere_and_a_scant_request(tmp_path: Path) -> None:
    with WorldWriter(tmp_path, {"width": 64, "height": 48}) as writer:
        writer.finish("")
    write_benchmark(tmp_path, "elsewhere", {}, None, {})
    text = (tmp_path / "README.md").read_text()
    assert "| benchmark | held out |\n|---|---|\n| elsewhere | nothing |\n" in text
    assert "Rendering again" not in text
    assert "Whoever publishes them chooses their licence" in text


def test_an_unfinished_world_has_no_card(tmp_path: Path) -> None:
    write_json(tmp_path / "dataset.json", {"world": None, "benchmarks": {}})
    write_card(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["dataset.json"]
    assert json.loads((tmp_path / "dataset.json").read_text())["world"] is None


def test_croissant_is_valid_and_its_records_are_those_of_the_tables(small_dataset: Path) -> None:
    described = mlcroissant.Dataset(str(small_dataset / "croissant.json"))
    assert not described.metadata.ctx.issues.errors
    benchmark = Dataset.open(small_dataset).benchmark(FIRST)
    for table in BENCHMARK_TABLES:
        rows, name = getattr(benchmark, table).to_pylist(), f"{FIRST}/{table}"
        for row, record in zip(rows, islice(described.records(name), 20), strict=False):
            assert {column: plain(record[f"{name}/{column}"]) for column in row} == row


def test_croissant_reads_scenes_with_their_objects_and_images(small_dataset: Path) -> None:
    described = mlcroissant.Dataset(str(small_dataset / "croissant.json"))
    rows = {row["scene_id"]: row for row in Dataset.open(small_dataset).world.scenes.to_pylist()}
    records = list(described.records("scenes"))
    assert [plain(record["scenes/scene_id"]) for record in records] == list(rows)
    for record in records:
        row = rows[plain(record["scenes/scene_id"])]
        if row["status"] == "ok":
            first, relation = record["scenes/objects"][0], record["scenes/relations"][1]
            assert plain(first["scenes/objects/category"]) == row["objects"][0]["category"]
            assert first["scenes/objects/amodal_box"] == row["objects"][0]["amodal_box"]
            assert plain(relation["scenes/relations/relation"]) == row["relations"][1]["relation"]
        else:
            assert plain(record["scenes/reason"]) == "the lamp broke"
    images = {
        plain(record["images/scene_id"]): record["images/image"]
        for record in described.records("images")
    }
    assert {name: image.getpixel((0, 0))[0] for name, image in images.items()} == {
        name: int(name) for name in images
    }
    assert len(images) == 33


def plain(value: object) -> object:
    """Croissant's bytes as text."""
    if isinstance(value, bytes):
        return value.decode()
    return [plain(v) for v in value] if isinstance(value, list) else value


def test_croissant_refuses_a_table_with_other_bytes(small_dataset: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(small_dataset, tmp_path / "copy")
    shutil.copy(
        copy / f"benchmarks/{FIRST}/items.parquet", copy / f"benchmarks/{FIRST}/texts.parquet"
    )
    with pytest.raises(Exception, match=rf"Download\(benchmarks/{FIRST}/texts.parquet\)"):
        next(iter(mlcroissant.Dataset(str(copy / "croissant.json")).records(f"{FIRST}/texts")))
