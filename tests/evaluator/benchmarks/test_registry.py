"""Benchmarks by name, those of other packages among them."""

import re
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from evaluator import evaluate
from evaluator.benchmarks import registry
from evaluator.benchmarks.pictures import Picture, Pictures, PublishedBenchmark
from evaluator.benchmarks.question import ImageRef, PublishedQuestion, make_candidate_table
from evaluator.benchmarks.registry import (
    BenchmarkSource,
    external_source,
    open_external,
    read_own_table,
)
from generator.base.errors import UserError
from tests.evaluator.benchmarks.conftest import Colors, square, write_sugarcrepe, write_table
from tests.evaluator.synthetic import find


def own_reader(path: Path, images: Path | None) -> PublishedBenchmark:
    """As a package of someone else writes it: each file is an image of the colour that names it."""
    files = sorted(path.glob("*.png"))
    questions = [
        PublishedQuestion(
            file.stem, (ImageRef((file.name,)),), (f"a {file.stem} hat", "a gray hat")
        )
        for file in files
    ]
    return PublishedBenchmark(
        make_candidate_table(questions, path),
        Pictures(path, {file.name: Picture(file) for file in files}),
    )


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("mine", f"{__name__}:own_reader", registry.PLUGINS)
    lost = EntryPoint("lost", "nowhere.at_all:read", registry.PLUGINS)

    def entry_points(group: str, name: str | None = None) -> list[EntryPoint]:
        assert group == registry.PLUGINS
        return [plugin for plugin in (entry, lost) if name in (None, plugin.name)]

    monkeypatch.setattr(registry, "entry_points", entry_points)


@pytest.mark.usefixtures("offered")
def test_a_benchmark_of_another_package_is_scored(tmp_path: Path, colors: Colors) -> None:
    (tmp_path / "files").mkdir()
    for color in ("red", "blue"):
        square(color).save(tmp_path / "files" / f"{color}.png")
    evaluation = evaluate(colors, f"mine:{tmp_path / 'files'}", out=tmp_path / "run", name="colors")
    assert find(evaluation.results, "binary", "all")["value"] == 1
    with pytest.raises(
        UserError, match=r"The benchmark 'lost' cannot be read with nowhere.at_all:read"
    ):
        open_external(BenchmarkSource(tmp_path, "lost"))


def test_the_reader_in_the_docs_reads(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", Path("docs/external.md").read_text(), re.DOTALL)
    square("red").save(tmp_path / "dog.jpg")
    names: dict[str, object] = {}
    exec(code, names)
    external = names["read"](tmp_path, None)  # type: ignore[operator]
    assert external.table["text"].to_pylist() == ["a dog on a chair", "a chair on a dog"]
    assert external.pictures.image("dog.jpg").size == (24, 24)


def test_names_are_told_from_folders_and_urls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert external_source("sugarcrepe:files", None) == BenchmarkSource(Path("files"), "sugarcrepe")
    assert external_source("s3://bucket/dataset", None) is None
    assert external_source("a/b:c", None) is None
    assert external_source("dataset", None) is None
    monkeypatch.chdir(tmp_path)
    Path("aro:1").mkdir()
    assert external_source("aro:1", None) is None
    with pytest.raises(UserError, match="Unknown benchmark 'sugarcrap': did you mean 'sugarcrepe'"):
        external_source("sugarcrap:x", None)
    with pytest.raises(
        UserError, match="Unknown benchmark 'sugarcrap'"
    ):  # as a run.json may name one
        open_external(BenchmarkSource(tmp_path, "sugarcrap"))


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"There is no .*none; give the file or folder of sugarcrepe"
    ):
        open_external(BenchmarkSource(tmp_path / "none", "sugarcrepe"))
    folder = write_sugarcrepe(tmp_path / "files")
    with pytest.raises(
        UserError, match=r"There is no folder .*none; give the folder of the images"
    ):
        open_external(BenchmarkSource(folder, "sugarcrepe", tmp_path / "none"))


def test_a_dataset_is_recorded_by_its_folder(tmp_path: Path) -> None:
    assert BenchmarkSource(tmp_path).record() == {"dataset": str(tmp_path), "external": None}
    assert (str(BenchmarkSource(tmp_path)), str(BenchmarkSource(tmp_path, "aro"))) == (
        str(tmp_path),
        f"aro:{tmp_path}",
    )


def test_images_may_lie_in_another_folder(tmp_path: Path) -> None:
    path = write_table(tmp_path / "files")
    moved = path.rename(tmp_path / "mine.csv")
    with pytest.raises(UserError, match=r"Row 1 of .* names the image '0.png', which is not in"):
        read_own_table(moved, None)
    assert read_own_table(moved, tmp_path / "files").pictures.image("0.png").size == (24, 24)


def test_missing_columns_and_paths_that_leave_the_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item,protocol,text\n1,binary,x\n")
    with pytest.raises(UserError, match=r"has no column 'image'"):
        read_own_table(tmp_path / "a.csv", None)
    (tmp_path / "a.csv").write_text("item,protocol,text,image\n1,binary,x,../secret.png\n")
    with pytest.raises(UserError, match="is not a path within that folder"):
        read_own_table(tmp_path / "a.csv", None)
