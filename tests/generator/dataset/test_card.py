"""The card of a dataset: what README.md and croissant.json say is true of the files beside them."""

import hashlib
import json
import re
import shlex
import shutil
import subprocess
from itertools import islice
from pathlib import Path

import click
import mlcroissant
import pytest
import yaml
from PIL import Image

from generator.cli.main import main
from generator.dataset.card import write_card
from generator.dataset.croissant import MEANING
from generator.dataset.files import write_json
from generator.dataset.licences import OWN, licence_section
from generator.dataset.reader import Dataset
from generator.dataset.schema import BENCHMARK_TABLES, SCENES
from generator.dataset.writer import WorldWriter, write_benchmark, write_index
from generator.describe.benchmark import describe
from generator.describe.first_benchmarks import write_benchmarks
from generator.describe.request import first_request
from generator.holdout.request import parse_seeds, read_holdout
from generator.placement.scenes import place_scene
from generator.plan.record import Planned
from generator.render.run import Job, parse_resolution, prepare, request_of
from generator.scene.graph import scene_graph
from generator.vocabulary.schema import Vocabulary

JOB = Job("clevr", "3x3", {"train": 12, "val": 4, "seen": 6, "partial": 6, "unseen": 6}, 64, 48, "draft", 7, 2)
FIRST, OTHER = "color-shape-3x3-b2", "again"


def record(planned: Planned, vocabulary: Vocabulary, image: Path) -> dict:
    """What a render worker answers, with an image of one colour in place of a render."""
    scene = place_scene(planned, vocabulary, JOB.seed, 0, JOB.width, JOB.height)
    Image.new("RGB", (JOB.width, JOB.height), (int(planned.scene_id) % 256, 0, 0)).save(image)
    return {
        "scene_id": planned.scene_id,
        "cluster_id": planned.cluster_id,
        "objects": [{"index": i, "category": o.category, "attributes": o.attributes, "amodal_box": [i, 1, 30, 40], "visible_fraction_estimate": 1.0}
                    for i, o in enumerate(scene.objects)],
        "relations": [{"subject": i, "relation": name, "object": j, **data}
                      for i, j, name, data in scene_graph(scene, vocabulary).edges(keys=True, data=True)],
        "scene": scene.to_json(),
        "files": {f"images/{image.name}": hashlib.sha256(image.read_bytes()).hexdigest()},
    }  # fmt: skip


def make_dataset(root: Path) -> Path:
    """A dataset of 34 scenes, one of them failed, with two benchmarks; nothing is rendered."""
    prepared = prepare(JOB)
    with WorldWriter(root, request_of(prepared)) as writer:
        for planned in prepared.planned[:-1]:
            writer.add(record(planned, prepared.vocabulary, writer.images / f"{planned.scene_id}.png"))
        failed = prepared.planned[-1]
        writer.add({"scene_id": failed.scene_id, "cluster_id": failed.cluster_id, "failed": "the lamp broke"})
        writer.finish(prepared.text)
    world = Dataset.open(root).world
    write_benchmarks(root, world, False)
    describe(root, world, prepared.holdout, OTHER, first_request(prepared.holdout, exposed_negatives=True))
    return root


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("card") / "dataset")


@pytest.fixture(scope="module")
def readme(made: Path) -> str:
    return (made / "README.md").read_text(encoding="utf-8")


def block(readme: str, language: str, containing: str) -> str:
    """The code block of the README in that language with that word."""
    return next(code for code in re.findall(rf"```{language}\n(.*?)```", readme, re.DOTALL) if containing in code)


def test_two_makings_have_one_card(made: Path, tmp_path: Path) -> None:
    elsewhere = make_dataset(tmp_path / "another name")
    for name in ("README.md", "croissant.json"):
        before = (made / name).read_bytes()
        write_card(made)
        assert (made / name).read_bytes() == before == (elsewhere / name).read_bytes()
        assert str(made) not in before.decode()


def test_the_readme_says_what_the_world_and_benchmarks_are(readme: str) -> None:
    assert "| scenes | 34, of which 1 failed and are in no split |" in readme
    assert "| resolution | 64 x 48 pixels |" in readme
    assert "| seed of the scenes | 7 |" in readme
    counts = re.search(rf"\| {FIRST} \| color .* with shape .* \(block seed 2\) \|(.*)\|\n", readme)
    assert counts
    assert sum(map(int, counts[1].split("|"))) == 33
    assert f"- {OTHER}: train negatives show held-out bindings (--exposed-negatives)." in readme


def test_the_front_matter_is_yaml_and_its_tables_load(made: Path, readme: str, tmp_path: Path) -> None:
    front = yaml.safe_load(readme.split("---\n")[1])
    assert front["size_categories"] == ["n<1K"]
    assert "license" not in front
    assert all((made / config["data_files"]).exists() for config in front["configs"])
    datasets = pytest.importorskip("datasets")
    texts = datasets.load_dataset(str(made), f"{FIRST}-texts", cache_dir=str(tmp_path))["train"]
    assert texts["text"][:] == Dataset.open(made).benchmark(FIRST).texts["text"].to_pylist()


def test_the_reading_example_runs(
    made: Path, readme: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(made)
    exec(compile(block(readme, "python", "Dataset.open"), "README.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert all(Path(line.split()[0]).exists() for line in lines)


def test_the_sums_can_be_checked_as_the_readme_says(made: Path, readme: str, tmp_path: Path) -> None:
    check = next(line for line in block(readme, "sh", "sha256sum").splitlines() if "sha256sum" in line)
    copy = shutil.copytree(made, tmp_path / "copy")
    assert subprocess.run(["bash", "-c", check], cwd=copy, capture_output=True, check=False).returncode == 0
    (copy / "benchmarks" / FIRST / "pools.parquet").write_bytes(b"")
    assert b"FAILED" in subprocess.run(["bash", "-c", check], cwd=copy, capture_output=True, check=False).stdout


def test_the_render_command_asks_for_the_same_world(made: Path, readme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made)
    render, split = (shlex.split(line)[1:] for line in block(readme, "sh", "gen render").splitlines())
    given = _parsed(render)
    job = Job(given["family"], given["holdout"], given["scenes"], *parse_resolution(given["resolution"]),
              given["quality"], given["seed"], parse_seeds(given["block_seed"]))  # fmt: skip
    ours, again = prepare(JOB), prepare(job)
    assert (list(again.planned), again.holdout, again.text, again.quality) == (
        list(ours.planned), ours.holdout, ours.text, ours.quality,
    )  # fmt: skip
    assert not given["exposed_negatives"]
    other = _parsed(split)
    assert read_holdout(Path(other["holdout"][0]), ours.vocabulary) == ours.holdout
    assert (other["name"], other["exposed_negatives"]) == (OTHER, True)


def _parsed(arguments: list[str]) -> dict:
    name, *rest = arguments
    return main.commands[name].make_context(name, rest, parent=click.Context(main)).params


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


@pytest.mark.parametrize(("table", "schema"), [("scenes", SCENES), *BENCHMARK_TABLES.items()])
def test_every_column_has_a_meaning(table: str, schema: object) -> None:
    assert {name for name in MEANING[table] if "/" not in name} == set(schema.names)  # type: ignore[attr-defined]


def test_a_world_without_benchmarks_has_a_card(made: Path, tmp_path: Path) -> None:
    root = tmp_path / "bare"
    shutil.copytree(made / "world", root / "world")
    write_index(root)
    assert "None yet" in (root / "README.md").read_text()
    assert "configs" not in (root / "README.md").read_text()
    assert [r.id for r in mlcroissant.Dataset(str(root / "croissant.json")).metadata.record_sets] == [
        "images",
        "scenes",
    ]


def test_a_benchmark_made_elsewhere_and_a_scant_request(tmp_path: Path) -> None:
    with WorldWriter(tmp_path, {"width": 64, "height": 48}) as writer:
        writer.finish("")
    write_benchmark(tmp_path, "elsewhere", {}, None, {})
    text = (tmp_path / "README.md").read_text()
    assert "| benchmark | held out |\n|---|---|\n| elsewhere | nothing |\n" in text
    assert "Rendering again" not in text


def test_an_unfinished_world_has_no_card(tmp_path: Path) -> None:
    write_json(tmp_path / "dataset.json", {"world": None, "benchmarks": {}})
    write_card(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["dataset.json"]
    assert json.loads((tmp_path / "dataset.json").read_text())["world"] is None


@pytest.mark.parametrize(
    ("licence", "said"),
    [
        ("CC BY-SA 3.0, A. Smith", "names the authors and what was changed, and keeps this licence."),
        ("CC-BY-NC-SA-4.0", "keeps this licence, and only without commercial aims."),
        ("CC BY 4.0", "whoever shares them names the authors and what was changed."),
        ("CC BY-ND 4.0", "which it lets nobody share"),
        ("CC0 1.0", "It asks nothing of images."),
        ("bought at a shop", "sees whether it allows that"),
        ("not declared", "find out before you share"),
    ],
)
def test_the_licence_of_meshes_is_said_with_what_it_asks(licence: str, said: str) -> None:
    assets = {"licences": {"fox": licence, "crow": "CC0, B. Jones", "bear": licence}}
    (line,) = [line for line in licence_section(assets).splitlines() if line.startswith("- fox, bear")]
    assert line.startswith(f"- fox, bear: {licence}. ")
    assert said in line


def test_without_meshes_of_others_whoever_publishes_chooses_the_licence(readme: str) -> None:
    section = licence_section(None)
    assert section in readme
    assert licence_section({"licences": {"fox": OWN}}) == section
