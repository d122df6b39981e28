"""Labels of runs: pooled, missing, ambiguous."""

import shutil
from pathlib import Path

import pytest

from evaluator.analysis.pooling import pool_runs
from evaluator.report.tables.sources import EACH, Source, has, read_sources
from generator.base.errors import UserError
from generator.base.files import read_json, write_json
from tests.evaluator.analysis.test_pooling import made_run, trained


def test_a_label_has_parts_and_stands_beside_those_with_the_same_first_part(measured: Path) -> None:
    found = read_sources([f"a / x={measured}", f"b={measured}"], ["a / y=not trained.", "c=no weights"])
    assert [source.label for source in found] == [("a", "x"), ("a", "y"), ("b",), ("c",)]
    assert [source.name for source in found] == ["a / x", "a / y", "b", "c"]
    assert [len(source.entries) for source in found] == [1, 0, 1, 0]
    assert found[1].why_missing({"protocol": "binary"}) == "not trained"


def test_runs_of_one_label_are_pooled_over_blocks_and_seeds(measured: Path, tmp_path: Path) -> None:
    folders = []
    for seed in (0, 1):
        folders.append(tmp_path / str(seed))
        shutil.copytree(measured, folders[-1])
        path = folders[-1] / "results.json"
        results = read_json(path)
        results["factors"] = {**results["factors"], "training_seed": seed}
        results["rows"] = [{**row, "value": row["value"] and row["value"] * (1 - seed / 2)} for row in results["rows"]]
        write_json(path, results)
    (source,) = read_sources([f"a={folder}" for folder in folders])
    (entry,) = source.entries
    row, _ = source.find({"protocol": "binary", "metric": "accuracy", "kind": "swap", "split": "seen"})
    assert row is not None
    assert entry["runs"] == row["runs"] == 2
    (one,) = pool_runs([read_json(folders[0] / "results.json")])
    whole = next(r for r in one["rows"] if (r["protocol"], r["kind"], r["split"]) == ("binary", "swap", "seen"))
    assert row["value"] == pytest.approx(0.75 * whole["value"], abs=1e-5)


def test_designs_are_never_averaged() -> None:
    runs = [trained(0.5, "a", 0), trained(0.7, "a", 0, design={"world width": 96})]
    source = Source(("m",), pool_runs(runs))
    with pytest.raises(UserError, match=r"Several runs of 'm' answer the same question \(binary\).*LABEL=RUN"):
        source.find({"protocol": "binary", "metric": "accuracy", "split": "seen"})


def test_why_a_row_is_missing() -> None:
    (entry,) = pool_runs([{**made_run(), "not_asked": {"pairs": "it scores one image at a time"}, "left_out": ["productivity"]}])  # fmt: skip
    source = Source(("m",), [entry])
    raw = {"protocol": "productivity", "kind": "raw"}
    assert source.why_missing({"protocol": "pairs"}) == "pairs was not asked, since it scores one image at a time"
    assert (
        source.why_missing(raw) == "raw retrieval of productivity was left out: it needs too many scores of this model"
    )
    assert source.why_missing({"protocol": "binary"}) == "no such items in the benchmarks of its runs"
    assert source.why_missing({"protocol": "gzsl"}) == "protocol 'gzsl' not in the benchmarks of its runs"
    assert Source(("m",)).why_missing(raw) == "no run"


@pytest.mark.parametrize("text", ["vilt", "=no weights", "vilt="])
def test_a_reason_needs_a_label(text: str) -> None:
    with pytest.raises(UserError, match="Expected --missing LABEL=REASON"):
        read_sources([], [text])


def test_labels_select_rows() -> None:
    row = {"kind": "swap", "n": 3}
    assert has(row, {"kind": "swap", "n": EACH})
    assert has(row, {"kind": ("flip", "swap")})
    assert not has(row, {"kind": "swap", "n": None})
