"""`score measure` and `score compare` of runs of descriptions."""

import csv
import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from evaluator.runs.describe import measure_descriptions
from generator.base.files import read_json
from generator.dataset.reader import Dataset
from tests.conftest import refuse, succeed
from tests.evaluator.descriptions.test_ask import script, truths_of


def test_measuring_again_gives_the_same_files(runs: Path, tmp_path: Path) -> None:
    for name in ("errs", "prose"):
        folder = tmp_path / name
        shutil.copytree(runs / name, folder)
        measure_descriptions(folder)
        for path in sorted(folder.iterdir()):
            if path.suffix:
                assert path.read_bytes() == (runs / name / path.name).read_bytes(), path


def test_stored_answers_are_judged_again(runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(runs / "errs", folder)
    lines = []
    for text in (folder / "descriptions.jsonl").read_text().splitlines():
        lines.append(json.dumps({**json.loads(text), "answer": "[]"}))
    (folder / "descriptions.jsonl").write_text("\n".join(lines) + "\n")
    done = succeed("score", "measure", folder, "--level", "0.8")
    assert "80% intervals" in done.stdout
    record = read_json(folder / "descriptions.json")
    recall = [row for row in record["rows"] if row["measure"] == "object recall"]
    assert {row["value"] for row in recall} == {0.0}
    assert record["level"] == 0.8


def test_paired_differences_are_the_script_s_own(
    crowded: Dataset, runs: Path, tmp_path: Path
) -> None:
    """The other model names everything rightly."""
    out = tmp_path / "rows.csv"
    done = succeed("score", "compare", runs / "errs", f"b={runs / 'prose'}", "--out", out)
    assert "values exchanged" in done.stdout
    with out.open() as file:
        rows = list(csv.DictReader(file))
    truths = list(truths_of(crowded).values())
    n_compared = 0
    for row in rows:
        if row["measure"] not in ("values right", "object recall", "recall of held-out bindings"):
            continue
        shares = []
        for truth in truths:
            count, of = script(truth).shares[row["measure"]]
            if truth.split == row["split"] and of:
                shares.append(Fraction(count, of))
        mean = sum(shares) / len(shares)
        assert float(row["first_mean"]) == round(float(mean), 6)
        assert float(row["second_mean"]) == 1
        assert float(row["difference"]) == pytest.approx(float(mean) - 1, abs=1e-6)
        assert int(row["images"]) == len(shares)
        n_compared += 1
    assert n_compared == 3 + 3 + 2


def test_pairs_that_cannot_be_measured_or_compared_are_refused(runs: Path, tmp_path: Path) -> None:
    refuse("--channel", "score", "measure", runs / "errs", "--channel", "itm")
    refuse("at least two runs", "score", "compare", runs / "errs")
    refuse("a name for each model", "score", "compare", f"a={runs / 'errs'}", f"a={runs / 'prose'}")
    refuse("--detect", "score", "compare", runs / "errs", runs / "prose", "--detect", "5")
    refuse(
        "no measure", "score", "compare", f"a={runs / 'errs'}", runs / "prose", "--metric", "right"
    )
    (tmp_path / "other").mkdir()
    refuse("does not", "score", "compare", runs / "errs", tmp_path / "other")
