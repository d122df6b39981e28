"""Every fault of the catalogue is found: datasets that someone changed and sealed again, with every
digest and card recomputed.

The judge finds faults of truth, leaks, membership, familiarity and pools, whoever made the dataset,
so that it finds mistakes of ours too. Making the dataset again finds the others. A new fault is a
function in faults/, beside those of its subject.
"""

import hashlib
import json
import multiprocessing
import pickle
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from generator.base.files import read_json, write_json
from generator.dataset.records import PLAN, plan_schema
from generator.inspection import reproduction
from generator.inspection.reproduction import Reproduction
from generator.judge.certificate import Reproduced
from generator.judge.verify import verify_dataset
from generator.plan import minimal_pairs
from tests.conftest import once
from tests.generator.judge.faults import FAULTS
from tests.generator.judge.faults.catalogue import NOT_REPRODUCED
from tests.generator.judge.faults.edits import edit_vocabulary
from tests.generator.judge.faults.worlds import (
    ALL,
    ATOMS,
    DOSED,
    FIRST,
    RELATED,
    RELATIONS,
    TARS,
    THREE,
    TURN,
    TWO,
    make_dataset,
)
from tests.generator.judge.planted import Planted


@pytest.fixture
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A dataset without fault by its name in JOBS, made once. Not to be changed."""

    def dataset(name: str) -> Path:
        return once(tmp_path_factory, f"faults-{name}", lambda root: make_dataset(root, name))

    return dataset


@pytest.fixture
def copy_of(datasets: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of such a dataset that a test may change."""
    return lambda name: Path(shutil.copytree(datasets(name), tmp_path / "dataset"))


@pytest.fixture(autouse=True)
def _planned_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Plans are functions of their arguments: each is made once."""

    def plan_once(*arguments: Any, **options: Any) -> Any:
        name = hashlib.sha256(repr((arguments, options)).encode()).hexdigest()
        plan_file = once(
            tmp_path_factory,
            name,
            lambda path: path.write_bytes(pickle.dumps(plan(*arguments, **options))),
        )
        return pickle.loads(plan_file.read_bytes())

    plan = minimal_pairs.plan_with_twins
    monkeypatch.setattr(minimal_pairs, "plan_with_twins", plan_once)


@pytest.mark.parametrize(
    "benchmark_of",
    [
        FIRST,
        ALL,
        TARS,
        RELATIONS,
        TURN,
        DOSED,
        *(pytest.param(design, marks=pytest.mark.full) for design in (ATOMS, TWO, RELATED, THREE)),
    ],
)
def test_a_dataset_without_fault_is_clean_also_when_sealed_again(
    copy_of: Callable[[str], Path], benchmark_of: tuple[str, str]
) -> None:
    root = copy_of(benchmark_of[0])
    for sealed in (False, True):
        if sealed:
            Planted(root, benchmark_of[1]).seal()
        certificate = verify_dataset(root, benchmark_of[1], reproduce=Reproduction())[
            benchmark_of[1]
        ]
        assert (certificate["findings"], certificate["reproduced"], certificate["level"]) == (
            [],
            True,
            "records",
        )
        assert certificate["status"] == (
            "as declared" if benchmark_of in (RELATED, DOSED) else "clean"
        )


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_and_named(copy_of: Callable[[str], Path], name: str) -> None:
    (dataset, benchmark), plant = FAULTS[name]
    root = copy_of(dataset)
    data = Planted(root, benchmark, seed=len(name))
    fault, words = plant(data)
    data.seal()
    reproduction = Reproduction() if fault == NOT_REPRODUCED else None
    certificate = verify_dataset(root, benchmark, reproduce=reproduction)[benchmark]
    messages = [finding["what"] for finding in certificate["findings"] if finding["fault"] == fault]
    assert certificate["status"] == "failed"
    assert any(words in message for message in messages), (
        fault,
        words,
        certificate["sentence"],
        certificate["findings"][:9],
    )
    assert {"damaged file", "unlisted file", "another world"}.isdisjoint(
        {*certificate["faults"]} - {fault}
    )


def _exchange_images(data: Planted) -> None:
    one, two = (
        next(name for name, split in data.split.items() if split == split_name)
        for split_name in ("train", "unseen")
    )
    paths = [data.root / f"world/images/{scene_id}.png" for scene_id in (one, two)]
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, reversed(contents), strict=True):
        path.write_bytes(content)


def _rename_a_colour(data: Planted) -> None:
    """The values red and blue exchange their appearance in the vocabulary, as nobody who only reads
    records can see."""
    edit_vocabulary(data, r"(?m)^(red = .*)linear = \[\d+, 9, 9\]", r"\1linear = [9, 9, 99]")
    path = data.root / "world/plan.parquet"
    request = json.loads(pq.read_schema(path).metadata[b"request"])
    schema = plan_schema({**request, "vocabulary": data.world["request"]["vocabulary"]})
    pq.write_table(pq.read_table(path).cast(PLAN).replace_schema_metadata(schema.metadata), path)


@pytest.mark.parametrize("change", [_exchange_images, _rename_a_colour])
def test_changes_that_only_pixels_show_are_beyond_the_level_of_records(
    copy_of: Callable[[str], Path], change: Callable[[Planted], None]
) -> None:
    """docs/verify.md says so; a certificate of the level of records claims nothing about pixels."""
    root = copy_of("files")
    data = Planted(root, "all")
    change(data)
    data.seal()
    certificate = verify_dataset(root, "all")["all"]
    assert (certificate["status"], certificate["level"]) == ("clean", "records")
    assert "no pixel was compared" in certificate["sentence"]


@pytest.mark.parametrize("parts", [["world"], ["benchmarks/all"], ["world", "benchmarks/all"]])
def test_components_of_another_version_are_judged_and_not_made_again(
    copy_of: Callable[[str], Path], parts: list[str]
) -> None:
    root = copy_of("files")
    for part in parts:
        path = root / part / "manifest.json"
        write_json(path, {**read_json(path), "version": "0.0.1"})
    certificate = verify_dataset(root, "all", reproduce=Reproduction())["all"]
    assert (certificate["status"], certificate["reproduced"]) == ("clean", False)
    assert (
        "not made again, since it was made by version 0.0.1, and this is "
        in certificate["sentence"]
    )
    assert certificate["sentence"].count("0.0.1") == 1


def test_a_process_that_is_ended_leaves_the_verdict_of_the_judge(
    datasets: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reproduction, "_LARGE", 0)
    making = Reproduction()(datasets("files"), ["all"])
    while len(processes := multiprocessing.active_children()) < 2:
        time.sleep(0.01)
    processes[0].kill()
    assert making() == {"all": Reproduced(False, (), "its process ended early")}


def test_benchmarks_may_be_made_before_their_world(
    datasets: Callable[[str], Path], tmp_path: Path
) -> None:
    for name in ("all", None):
        component = reproduction._Component(datasets("files"), name)
        assert component.reproduce(tmp_path) == Reproduced(True)
