"""A model that was trained on what a benchmark holds out is refused, or every table and page says
so."""

import csv
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
from huggingface_hub import ModelCard
from PIL import Image

from evaluator.models.registry import load_model
from evaluator.papers.inputs import read_inputs
from evaluator.papers.paper import find_paper, make_paper
from evaluator.provenance.contamination import (
    CLEAN,
    CONTAMINATED,
    FITTED,
    UNKNOWN,
    find_overlaps,
    training_of,
)
from evaluator.provenance.exposure import RECORD, Exposure, scene_names
from evaluator.report.writers import csv_rows
from evaluator.training.methods import Scratch
from evaluator.training.session import train
from evaluator.training.source import benchmark_source, corpus_source
from generator.dataset.reader import Benchmark, Dataset, World
from generator.describe.benchmark import describe_world
from generator.describe.request import first_request
from generator.holdout.blocks import draw_block
from generator.vocabulary.schema import parse_vocabulary
from tests.conftest import once
from tests.evaluator.conftest import (
    Tiny,
    assert_one_sentence,
    build_dataset,
    score_command,
    succeed,
)

TRAINED, OTHER = "color-shape-3x3-b0", "b5"


def _train(world: World, benchmark: Benchmark, out: Path, **more: Any) -> None:
    recipe = Scratch(epochs=1, batch=24, **more)
    train(recipe, benchmark_source(world, benchmark, recipe), out, device="cpu")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A drawn dataset with the benchmarks of block seeds 0 and 5, which share no binding, and a
    model of the first."""

    def make(folder: Path) -> None:
        root = build_dataset(folder / "dataset")
        dataset = Dataset.open(root)
        vocabulary = parse_vocabulary(dataset.world.vocabulary_text, "vocabulary.toml")
        holdout = draw_block("3x3", vocabulary, 5)
        describe_world(
            root, dataset.world, holdout=holdout, name=OTHER, request=first_request(holdout)
        )
        _train(dataset.world, dataset.benchmark(TRAINED), folder / "model")

    return once(tmp_path_factory, "two", make)


@pytest.fixture(scope="module")
def overlap_counts(two: Path) -> tuple[int, int, int]:
    """By a plain reading: held-out bindings of the other benchmark among the objects of the
    training images, in all, and images of its items that trained."""
    dataset = Dataset.open(two / "dataset")
    trained, other = dataset.benchmark(TRAINED), dataset.benchmark(OTHER)
    train = {row["scene_id"] for row in trained.splits.to_pylist() if row["split"] == "train"}
    bindings = {
        (dict(obj["attributes"])["color"], obj["category"])
        for row in dataset.world.scenes.to_pylist()
        if row["scene_id"] in train
        for obj in row["objects"]
    }
    binary_items = set(other.items_of("binary")["item_id"].to_pylist())
    images = {
        row["scene_id"] for row in other.candidates.to_pylist() if row["item_id"] in binary_items
    }
    held = [
        sum(tuple(binding) in bindings for binding in of.holdout_block()["bindings"])
        for of in (trained, other)
    ]
    assert held[0] == 0 < min(held[1], len(images & train))
    return held[1], len(images & train), len(images)


@pytest.fixture(scope="module")
def mark_start(overlap_counts: tuple[int, int, int]) -> str:
    return f"CONTAMINATED: {overlap_counts[0]} of 9 held-out bindings"


def _run(two: Path, spec: str, benchmark: str, out: Path, *more: str) -> tuple[str | Path, ...]:
    return ("run", two / "dataset", "--model", spec, "--benchmark", benchmark, "--out", out, *more)


def test_a_model_of_another_block_is_refused(
    two: Path, overlap_counts: tuple[int, int, int], mark_start: str, tmp_path: Path
) -> None:
    _, trained, images = overlap_counts
    out = tmp_path / "run"
    done = score_command(
        *_run(two, f"jackalope:{two / 'model'}", OTHER, out, "--protocol", "binary")
    )
    whole = f"{mark_start} and {trained} of {images} scored images were in training of jackalope:"
    assert_one_sentence(done, whole, "add --allow-contaminated")
    assert not out.exists()
    assert_one_sentence(
        score_command(*_run(two, f"open_clip:local-dir:{two / 'model'}", OTHER, out)),
        "CONTAMINATED",
    )


def test_every_table_and_page_of_an_allowed_run_says_so(
    two: Path, mark_start: str, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    done = succeed(*_run(two, f"jackalope:{two / 'model'}", OTHER, out, "--allow-contaminated"))
    assert done.stdout.count(mark_start) == 3  # in the verdict, above the short table, and on it
    assert mark_start in done.stderr
    _check_files(out, mark_start)
    page = tmp_path / "page.html"
    report = score_command("report", out, "--out", page, "--full")
    assert report.stdout.count(mark_start) >= 3  # above the tables, and on each of at least two
    html = page.read_text()
    assert html.count(mark_start) == 3 + html.count('class="sorted"') + html.count(
        'class="drawing"'
    )
    assert "no training image" not in html
    for path in out.rglob("*"):
        if path.suffix in (".csv", ".tex", ".json") and path.name not in ("run.json",):
            path.unlink()
    remeasured = succeed("measure", out, "--full")
    assert remeasured.stdout.count(mark_start) >= 3
    _check_files(out, mark_start)


def test_items_comparisons_cards_and_papers_figures_say_so_too(
    two: Path, mark_start: str, tmp_path: Path
) -> None:
    runs = [tmp_path / "run", tmp_path / "blind"]
    trained = f"jackalope:{two / 'model'}"
    for run, spec in zip(runs, (trained, "blind:length"), strict=True):
        succeed(
            *_run(two, spec, OTHER, run, "--protocol", "binary", "--allow-contaminated", "--jsonl")
        )
    rows = [json.loads(line) for line in (runs[0] / "items.jsonl").read_text().splitlines()]
    assert rows
    assert all(row["mark"].startswith(mark_start) for row in rows)
    assert json.loads((runs[1] / "items.jsonl").read_text().splitlines()[0])["mark"] is None
    machine = score_command("compare", *runs, "--json", "--out", tmp_path / "rows.csv")
    comparison = json.loads(machine.stdout)
    assert list(comparison["marks"]) == [trained]
    assert (
        "stand-in" not in comparison["marks"][trained]
    )  # `score train scratch` stands for nothing but itself
    assert all(row["mark"].startswith(f"{trained}: {mark_start}") for row in comparison["rows"])
    assert f"A: {mark_start}" in score_command("compare", *runs).stdout
    assert mark_start in (tmp_path / "rows.csv").read_text()
    succeed("report", runs[0], "--hub", tmp_path)
    for value in ModelCard.load(tmp_path / "README.md").data.eval_results or pytest.fail(
        "the card has no values"
    ):
        assert value.metric_name.endswith("(CONTAMINATED)")
        assert value.metric_args["mark"].startswith(mark_start)
        assert "population" in value.metric_args
    for labelled_runs in (
        [f"CLIP / frozen={runs[0]}"],
        [f"CLIP / frozen={runs[0]}", f"blind={runs[1]}"],
    ):
        outputs = make_paper(find_paper("bindsplit2026"), read_inputs(labelled_runs))
        assert "CLIP / frozen (CONTAMINATED)" in outputs.figures["figure4.svg"].decode()
        (first, *_) = csv_rows(outputs.tables["table2"])
        assert first["mark"].startswith(mark_start)
        assert not any("stand-in" in note for note in outputs.tables["table2"].all_notes())


def _check_files(out: Path, mark_start: str) -> None:
    assert json.loads((out / "results.json").read_text())["training"]["status"] == CONTAMINATED
    tables = [path for path in (out / "tables").iterdir() if path.stat().st_size]
    assert {path.name for path in tables} >= {
        "summary.csv",
        "items.csv",
        "binary.tex",
        "retrieval.tex",
    }
    for path in tables:
        text = path.read_text()
        if path.suffix == ".csv":
            rows = list(csv.DictReader(text.splitlines()))
            assert rows or path.name == "top.csv"  # no item has as many texts
            assert all(row["CONTAMINATED"].startswith(mark_start) for row in rows)
        else:
            assert text.count(mark_start) >= 1 + text.count(r"\begin{tabular}")
            assert re.search(r"\\caption\{[^ ]+: CONTAMINATED", text)


def test_a_model_of_the_same_block_is_clean(two: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = succeed(*_run(two, f"jackalope:{two / 'model'}", TRAINED, out))
    assert (
        "None of the 9 held-out bindings and none of the 40 scored images were in training."
        in done.stdout
    )
    assert json.loads((out / "results.json").read_text())["training"]["status"] == CLEAN
    assert "CONTAMINATED" not in done.output + "".join(
        path.read_text() for path in (out / "tables").iterdir()
    )
    succeed("report", out)
    html = (out.parent / "report.html").read_text()
    assert "that no training image or text contains" in html
    assert "CONTAMINATED" not in html


def test_training_negatives_that_name_what_is_held_out_count(
    two: Path, tmp_path: Path, little: None
) -> None:
    root = Path(shutil.copytree(two / "dataset", tmp_path / "dataset"))
    dataset = Dataset.open(root)
    holdout = draw_block("3x3", parse_vocabulary(dataset.world.vocabulary_text, "v"), 0)
    describe_world(
        root,
        dataset.world,
        holdout=holdout,
        name="exposed",
        request=first_request(holdout, exposed_negatives=True),
    )
    benchmark = Dataset.open(root).benchmark("exposed")
    for negatives, status in (("swap", CONTAMINATED), ("", CLEAN)):
        _train(dataset.world, benchmark, tmp_path / f"model-{negatives}", negatives=negatives)
        model = load_model(f"jackalope:{tmp_path / f'model-{negatives}'}", "cpu")
        assert training_of(model, dataset.world, benchmark=benchmark, images=[])["status"] == status


def test_of_other_models_the_page_says_that_nothing_is_known(
    two: Path, tiny: Callable[..., Tiny], tmp_path: Path
) -> None:
    out, spec = tmp_path / "run", f"open_clip:tiny@{tiny().save(tmp_path / 'tiny.pt')}"
    done = succeed(*_run(two, spec, OTHER, out, "--protocol", "binary"))
    assert "The training data of this model is unknown" in done.stdout
    assert "CONTAMINATED" not in (out / "tables" / "summary.csv").read_text()
    succeed("report", out)
    html = (out.parent / "report.html").read_text()
    assert "no training image" not in html
    assert (
        "The training data of this model is unknown: it may have seen the held-out combinations, "
        "or these images." in html
    )
    record = json.loads((out / "run.json").read_text())
    del record["training"]  # a run of an older version
    (out / "run.json").write_text(json.dumps(record))
    assert "is unknown" in score_command("measure", out).stdout


def test_a_baseline_that_is_fitted_on_the_run_says_that(world: World, benchmark: Benchmark) -> None:
    assert (
        training_of(load_model("blind:ngram", "cpu"), world, benchmark=benchmark, images=[])[
            "status"
        ]
        == FITTED
    )
    assert (
        training_of(load_model("blind:length", "cpu"), world, benchmark=benchmark, images=[])[
            "status"
        ]
        == CLEAN
    )


def test_overlaps_are_counted_for_everything_that_is_held_out(world: World) -> None:
    objects = [
        ("color", "red", "cube"),
        ("size", "blue", "sphere"),
        (None, None, "cone"),
        ("color", "gold", None),
    ]
    objects.append((None, "teddy", "bear"))
    triples = frozenset({("cube", "left", "cone")})
    exposure = Exposure(frozenset(objects), triples, scene_names(world, ["000003"])["000003"])
    holdout = {
        "kind": "color",
        "bindings": [["red", "cube"], ["blue", "sphere"], ["red", "cone"]],
        "triples": [["cube", "left", "cone"], ["cone", "right", "cube"]],
        "absent_values": ["gold", "blue", "pink"],
        "absent_objects": ["cone", "sphere", "teddy_bear", "polar_bear"],
    }
    benchmark: Any = SimpleNamespace(holdout=holdout)
    overlaps = [
        (overlap.n, overlap.of)
        for overlap in find_overlaps(
            exposure, world, benchmark=benchmark, images=["000003", "000004"]
        )
    ]
    assert overlaps == [(1, 3), (1, 2), (4, 7), (1, 2)]
    nothing: Any = SimpleNamespace(holdout=None)
    assert [
        overlap.of for overlap in find_overlaps(exposure, world, benchmark=nothing, images=[])
    ] == [0, 0, 0, 0]


def test_captions_of_a_corpus_are_read_for_what_is_held_out(two: Path, tmp_path: Path) -> None:
    """The images are encoded again, so that only the captions can tell; without one that tells,
    nothing is claimed."""
    dataset = Dataset.open(two / "dataset")
    other = dataset.benchmark(OTHER)
    held = other.holdout_block()["bindings"]
    Image.fromarray(np.zeros((16, 16, 3), np.uint8)).save(tmp_path / "a.jpg")
    captions = {
        "all": [
            f"a photo of the shiny {value} {category} and a blue dog" for value, category in held
        ],
        "plural": [f"two {held[0][0]} {held[0][1]}s"],
        "none": [f"a {category}, a {value} dog" for value, category in held],
    }
    statuses = {}
    for name, texts in captions.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_text(
            "\n".join(json.dumps({"image": "a.jpg", "caption": text}) for text in texts)
        )
        source = corpus_source(path, Scratch(negatives=""))
        model: Any = SimpleNamespace(
            info={}, fits_texts=False, exposure=source.exposure(source.data)
        )
        statuses[name] = training_of(model, dataset.world, benchmark=other, images=["000001"])
    assert [statuses[name]["status"] for name in captions] == [CONTAMINATED, CONTAMINATED, UNKNOWN]
    assert statuses["all"]["sentence"] == "CONTAMINATED: 9 of 9 held-out bindings were in training."
    assert statuses["plural"]["sentence"].startswith("CONTAMINATED: 1 of 9 ")
    assert statuses["none"]["sentence"] == (
        "In its training here, no noun phrase of the captions names any of the 9 held-out bindings "
        "and none of the 1 scored images is among the files. The content of its images and its "
        "earlier training are unknown: it may have seen them."
    )


def test_captions_do_not_tell_of_triples_and_another_training_may() -> None:
    benchmark: Any = SimpleNamespace(
        holdout={"kind": "color", "triples": [["cube", "left", "cone"]]}
    )
    world: Any = None
    corpus = Exposure(described=False, complete=False)
    model: Any = SimpleNamespace(info={}, fits_texts=False, exposure=corpus)
    assert training_of(model, world, benchmark=benchmark, images=[])["overlaps"] == []
    model.exposure = corpus | Exposure(triples=frozenset({("cube", "left", "cone")}))
    assert training_of(model, world, benchmark=benchmark, images=[])["status"] == CONTAMINATED


def test_a_copy_of_the_weights_keeps_its_history(
    two: Path, mark_start: str, tmp_path: Path
) -> None:
    """The file alone, under the name of its architecture, as another format: its digest is that of
    the record."""
    model: Any = load_model(f"jackalope:{two / 'model'}", "cpu")
    name = "jackalope-copied"
    (tmp_path / f"{name}.json").write_text(json.dumps(model.config))
    open_clip.add_model_config(tmp_path / f"{name}.json")
    torch.save(model.network.state_dict(), tmp_path / "copy.pt")
    out = tmp_path / "run"
    spec = f"open_clip:{name}@{tmp_path / 'copy.pt'}"
    assert_one_sentence(
        score_command(*_run(two, spec, OTHER, out, "--protocol", "binary")), mark_start
    )
    succeed(*_run(two, spec, TRAINED, out, "--protocol", "binary"))
    results = json.loads((out / "results.json").read_text())
    assert results["training"]["status"] == CLEAN
    assert results["factors"]["model"] == "jackalope:scratch"


def test_weights_are_known_as_soon_as_they_are_trained(
    world: World, benchmark: Benchmark, tmp_path: Path, little: None
) -> None:
    _train(world, benchmark, tmp_path / "model", seed=5)
    (tmp_path / "model" / RECORD).unlink()
    model = load_model(f"open_clip:local-dir:{tmp_path / 'model'}", "cpu")
    assert model.exposure is not None
    assert model.info["trained_on"]["method"] == "scratch"
