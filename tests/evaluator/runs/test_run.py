"""Runs from the dataset to results: what they say of models whose behaviour is known, and measuring
them again."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from evaluator.api import evaluate
from evaluator.runs.folder import open_run
from evaluator.runs.measure import measure_protocols
from generator.base.errors import UserError
from generator.base.files import read_json
from generator.dataset.reader import Dataset
from generator.dataset.writer import write_benchmark
from tests.evaluator.conftest import (
    Tiny,
    assert_one_sentence,
    score_command,
    succeed,
    write_certificate,
)
from tests.evaluator.encoders import Sharp, captions_by_image
from tests.evaluator.scorers import TorchBag
from tests.evaluator.synthetic import find

pytestmark = pytest.mark.usefixtures("bags")
SPLITS = {"val": 4, "seen": 12, "partial": 12, "unseen": 12}


def _run(
    dataset: Path, model: str, out: Path, batch: int = 64, protocols: tuple[str, ...] = ()
) -> dict[str, Any]:
    results: Any = evaluate(
        model, dataset, protocols=protocols, out=out, batch_size=batch, device="cpu"
    ).results
    return results


@pytest.mark.parametrize("kind", ["float32", "float16"])
@pytest.mark.parametrize(
    "batch",
    [pytest.param(1, marks=pytest.mark.full), pytest.param(64, marks=pytest.mark.full), 1000],
)
def test_a_bag_of_words_ties_on_every_swap(
    drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, batch: int
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"cache{batch}"))
    results = _run(drawn, f"bag:{kind}@{drawn}", tmp_path / "run", batch)
    for split, scenes in SPLITS.items():
        binary, retrieval = (find(results, name, split) for name in ("binary", "retrieval"))
        assert (binary["items"], binary["ties"], binary["value"]) == (2 * scenes, 2 * scenes, 0)
        assert binary["unscored"] == 0
        # its image is the bag of the truth, so the truth is on top, and the swap with it
        assert (retrieval["items"], retrieval["ties"], retrieval["value"]) == (scenes, scenes, 0)
    best = measure_protocols(open_run(tmp_path / "run"))["binary"].items.best_candidates()
    assert best["true"] == pytest.approx(best["false"], abs=1e-6)
    if kind == "float32":  # bits differ: without the tolerance some would count as right
        assert (best["true"] > best["false"]).any()


@pytest.mark.parametrize("precision", ["auto", "float32", "bfloat16"])
@pytest.mark.parametrize("batch", [pytest.param(1, marks=pytest.mark.full), 7, 500])
def test_a_bag_of_words_by_torch_ties_on_every_swap_in_every_precision(
    drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str, batch: int
) -> None:
    model = TorchBag()
    monkeypatch.setattr("evaluator.runs.run.load_model", lambda spec, device: model)
    options: dict[str, Any] = {"batch_size": batch, "device": "cpu", "precision": precision}
    evaluation = evaluate("x:y", drawn, protocols="binary", out=tmp_path / "run", **options)
    folder, results = evaluation.folder, evaluation.results
    for split, scenes in SPLITS.items():
        row = find(results, "binary", split)
        assert (row["items"], row["ties"], row["value"]) == (2 * scenes, 2 * scenes, 0)
    best: dict[str, Any] = measure_protocols(open_run(folder))["binary"].items.best_candidates()
    assert (best["true"] != best["false"]).any()  # the last bits differ
    half = precision == "bfloat16"
    assert model.dtypes == {
        ("text", torch.float32),
        ("image", torch.bfloat16 if half else torch.float32),
    }
    record = read_json(folder / "run.json")
    assert record["precision"] == ("bfloat16" if half else "float32")
    caches = {path.name for path in (tmp_path / "cache" / "jackalope" / "embeddings").iterdir()}
    assert caches == (
        {"torch-bag.sqlite", "torch-bag-bfloat16.sqlite"} if half else {"torch-bag.sqlite"}
    )


def test_measuring_again_needs_no_model_and_gives_the_same_bytes(
    tiny: Callable[..., Tiny], drawn: Path, tmp_path: Path
) -> None:
    path = tiny().save(tmp_path / "tiny.pt")
    folder = tmp_path / "run"
    _run(drawn, f"open_clip:tiny@{path}", folder)
    tables = [
        folder / "results.json",
        folder / "tables" / "summary.csv",
        folder / "tables" / "items.csv",
    ]
    before = [file.read_bytes() for file in tables]
    path.unlink()
    shutil.rmtree(folder / "tables")
    (folder / "results.json").unlink()
    done = succeed("measure", folder, "--json")
    assert [file.read_bytes() for file in tables] == before
    printed = json.loads(done.stdout)
    assert printed.pop("verdict")["sentence"]
    assert printed == json.loads(before[0])


@pytest.mark.full
def test_the_same_run_again_gives_the_same_results(drawn: Path, tmp_path: Path) -> None:
    for _ in range(2):
        _run(drawn, f"bag:sharp@{drawn}", tmp_path / "run")
        results = (tmp_path / "run" / "results.json").read_bytes()
    _run(drawn, f"bag:sharp@{drawn}", tmp_path / "elsewhere", batch=7)
    assert (tmp_path / "elsewhere" / "results.json").read_bytes() == results


def test_a_run_names_what_it_scored(drawn: Path, tmp_path: Path) -> None:
    _run(drawn, f"bag:sharp@{drawn}", tmp_path / "run", protocols=("binary",))
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    dataset = Dataset.open(drawn)
    assert (record["benchmark"], record["world"]) == (
        dataset.benchmark().digest,
        dataset.world.digest,
    )
    assert (record["benchmark_name"], record["protocols"], record["batch"]) == (
        "color-shape-3x3-b0",
        ["binary"],
        64,
    )
    assert record["certificate"] == "not verified"
    assert {"torch", "open_clip_torch", "numpy", "jackalope"} <= set(record["versions"])
    assert record["info"]["weights"] == "words"


def test_the_certificate_of_a_dataset_is_quoted(drawn_copy: Path, tmp_path: Path) -> None:
    dataset = Dataset.open(drawn_copy)
    write_certificate(dataset.world, dataset.benchmark(), status="as declared")
    results = _run(drawn_copy, f"bag:sharp@{drawn_copy}", tmp_path / "run", protocols=("binary",))
    assert results["certificate"] == (
        "as declared: the files were checked; the images were not (by the certificate in the "
        "folder)"
    )


def _write_again(root: Path, name: str = "", world: str = "", without: int = 0) -> None:
    """Write the only benchmark again: by another name, over another world, or without its first
    items."""
    benchmark = Dataset.open(root).benchmark()
    tables = {
        name: getattr(benchmark, name)
        for name in ("splits", "texts", "items", "candidates", "pools")
    }
    tables["items"] = tables["items"].slice(without)
    about = {"world": world or benchmark.manifest["world"]}
    write_benchmark(root, name or benchmark.name, tables, benchmark.holdout, about)


def test_a_dataset_that_changed_is_refused(drawn_copy: Path, tmp_path: Path) -> None:
    folder, model = tmp_path / "run", f"bag:sharp@{drawn_copy}"
    _run(drawn_copy, model, folder)
    results = (folder / "results.json").read_bytes()
    _write_again(drawn_copy, without=3)
    assert_one_sentence(
        score_command("measure", folder),
        "changed since",
        "run `score run` again with another --out",
    )
    assert_one_sentence(score_command("report", folder), "changed since")
    repeated = score_command("run", drawn_copy, "--model", model, "--out", folder)
    assert_one_sentence(repeated, "holds a run of another benchmark", "choose another --out")
    assert (folder / "results.json").read_bytes() == results
    shutil.rmtree(drawn_copy)
    assert_one_sentence(score_command("measure", folder), "is not at")


def test_a_benchmark_over_another_world_is_refused(drawn_copy: Path, tmp_path: Path) -> None:
    _write_again(drawn_copy, world="0" * 64)
    with pytest.raises(UserError, match="made over another world"):
        _run(drawn_copy, f"bag:sharp@{drawn_copy}", tmp_path / "run")


def test_a_folder_that_holds_something_else_is_left_alone(drawn: Path, tmp_path: Path) -> None:
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "thesis.tex").write_text("precious")
    model = f"bag:sharp@{drawn}"
    done = score_command("run", drawn, "--model", model, "--out", folder)
    assert_one_sentence(done, "is not empty and holds no run; choose another --out")
    assert [path.name for path in folder.iterdir()] == ["thesis.tex"]
    _run(drawn, model, tmp_path / "run", protocols=("binary",))
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    done = score_command("run", drawn, "--model", f"bag:float32@{drawn}", "--out", tmp_path / "run")
    assert_one_sentence(done, "holds a run of another model (bag:sharp@", "choose another --out")
    assert before == {
        path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()
    }


def test_a_benchmark_must_be_chosen_where_there_are_several(
    drawn_copy: Path, tmp_path: Path
) -> None:
    _write_again(drawn_copy, "second")
    arguments = (
        "run",
        drawn_copy,
        "--model",
        f"bag:sharp@{drawn_copy / '..' / 'dataset'}",
        "--out",
        tmp_path / "run",
    )
    assert_one_sentence(
        score_command(*arguments),
        "several benchmarks; choose one with --benchmark: color-shape-3x3-b0, second",
    )


def test_a_dataset_that_changes_during_a_run_is_one_sentence_and_nothing_is_lost(
    drawn: Path, drawn_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Meddling(Sharp):
        def encode_images(self, images: Sequence[Image.Image]) -> np.ndarray:
            if not changed:
                changed.append(True)
                _write_again(drawn_copy, without=3)
            return super().encode_images(images)

    changed: list[bool] = []
    model = Meddling(captions_by_image(drawn), key="meddling")
    monkeypatch.setattr("evaluator.runs.run.load_model", lambda spec, device: model)
    folder = tmp_path / "run"
    arguments = ("run", drawn_copy, "--model", "blind:length", "--out", folder)
    done = score_command(*arguments)
    assert done.exit_code == 2
    assert "changed since" in done.stderr.splitlines()[-1]
    assert "run `score run` again with another --out" in done.stderr.splitlines()[-1]
    assert_one_sentence(
        score_command(*arguments), "holds a run of another benchmark", "choose another --out"
    )
    shutil.rmtree(folder)
    succeed(*arguments)
