"""Partitions by familiarity as the splits of a run: scored, measured again, compared, on the
page."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evaluator import evaluate
from evaluator.analysis.comparison import compare
from evaluator.analysis.pooling import pool_runs
from evaluator.benchmarks.candidates import benchmark_tables
from evaluator.benchmarks.registry import write_questions
from evaluator.benchmarks.tables import read_table
from evaluator.protocols.records import split_of
from evaluator.runs.folder import open_run, split_run
from evaluator.runs.measure import measure
from evaluator.runs.parts import captions_digest, read_splits, splits_of
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark
from tests.evaluator.benchmarks.conftest import Colors, write_sugarcrepe, write_winoground
from tests.evaluator.conftest import assert_one_sentence, score_command, score_json, succeed
from tests.evaluator.synthetic import find

CORPUS = "a red car\na gray car\na blue dog\n"
"""Of the questions of write_sugarcrepe: red and gray cars are seen, the dog is mixed, green and
blue cars are unseen."""


class Guesses(Colors):
    """Right where the caption is red or green."""

    def encode_images(self, images: Any) -> np.ndarray:
        return np.array([[1, 1, 0, 0]] * len(images), dtype=np.float32)


def audited(benchmark: str, out: Path, corpus: str = CORPUS, *more: str) -> Path:
    """The folder of `score familiarity` against some captions."""
    path = out.with_suffix(".txt")
    path.write_text(corpus)
    succeed(
        "familiarity",
        benchmark,
        "--reference",
        path,
        "--out",
        out,
        "--workers",
        1,
        "--with-own",
        *more,
    )
    return out


@pytest.fixture
def benchmark(tmp_path: Path) -> str:
    return f"sugarcrepe:{write_sugarcrepe(tmp_path / 'files')}"


@pytest.fixture
def partitions(benchmark: str, tmp_path: Path) -> Path:
    return audited(benchmark, tmp_path / "familiarity")


def values(results: dict[str, Any], kind: str | None = None) -> dict[str, tuple[int, float | None]]:
    """Number of items and accuracy of every split."""
    rows = [row for row in results["rows"] if row["kind"] == kind and row["metric"] == "accuracy"]
    return {split_of(row): (row["items"], row["value"]) for row in rows}


def test_a_run_has_partitions_as_its_splits(
    benchmark: str, partitions: Path, tmp_path: Path
) -> None:
    evaluation = evaluate(
        Colors(), benchmark, out=tmp_path / "run", name="colors", splits=partitions
    )
    assert values(evaluation.results) == {
        "full": (5, 0.8),
        "seen": (2, 1.0),
        "mixed": (1, 0.0),
        "unseen": (2, 1.0),
        "seen - unseen": (4, 0.0),
        "full - seen": (5, -0.2),
        "mixed - seen": (3, -1.0),
        "full - unseen": (5, -0.2),
    }
    assert set(evaluation.items["split"]) == {"seen", "mixed", "unseen"}
    assert (
        open_run(tmp_path / "run").record["benchmark"]
        == open_run(tmp_path / "run").benchmark.digest
    )


def test_an_empty_partition_has_a_row_without_a_mean(
    benchmark: str, tmp_path: Path, caplog: Any
) -> None:
    partitions = audited(benchmark, tmp_path / "none", "a tall tree\n")
    evaluation = evaluate(Colors(), benchmark, out=tmp_path / "run", splits=partitions)
    row = find(evaluation.results, "binary", "seen", metric="accuracy", kind=None)
    assert (row["items"], row["value"], row["chance"]) == (0, None, None)
    assert "No question is seen: that split has no mean." in caplog.text
    assert values(evaluation.results)["unseen"] == (5, 0.8)
    assert not {"full - seen", "mixed - seen", "seen - unseen"} & set(values(evaluation.results))
    printed = succeed("measure", tmp_path / "run", "--full")
    assert "Splits are by familiarity with" in printed.stdout
    succeed("report", tmp_path / "run", "--out", tmp_path / "page.html")
    succeed("tables", "bindsplit2026", tmp_path / "run")


def test_measure_gives_a_finished_run_other_splits_and_keeps_them(
    benchmark: str, partitions: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    plain = evaluate(Colors(), benchmark, out=out).results
    assert set(values(plain)) == {"all"}
    done = succeed("measure", out, "--splits", partitions)
    assert "seen 2, mixed 1, unseen 2" in done.stderr
    remeasured = measure(out)
    assert set(values(remeasured)) > {"full", "seen", "mixed", "unseen"}
    assert len(pool_runs([plain, remeasured])) == 2, "results of other splits are not averaged"
    split_run(out, audited(benchmark, tmp_path / "other", "a green car\na blue car\n"))
    assert values(measure(out))["seen"] == (2, 1.0)
    succeed("report", out, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Splits are by familiarity with" in page
    figures = json.loads(page.partition('id="figures-data">')[2].partition("</script>")[0])
    (points,) = (panel["data"]["values"] for panel in figures["gap"]["concat"])
    value_of_split = {point["x"]: point["value"] for point in points}
    assert value_of_split == {
        "full": 80,
        "seen": 100,
        "mixed": None,
        "unseen": pytest.approx(200 / 3, abs=1e-3),
    }


def test_full_less_seen_has_the_interval_of_the_rest_against_the_seen(tmp_path: Path) -> None:
    """Against normal theory: full - seen = share of the rest x (rest - seen), for independent
    items."""
    n, of = 400, {"seen": 0.7, "mixed": 0.9, "unseen": 0.6}
    split = np.array(["seen", "mixed", "unseen", "seen"] * (n // 4))
    right = np.random.default_rng(0).random(n) < [of[name] for name in split]
    captions = {slot: [f"{slot} {i}" for i in range(n)] for slot in "cn"}
    items = pd.DataFrame(
        {"item": range(n), "protocol": "binary", "cluster": [f"k{i}" for i in range(n)]}
    )
    scores = {"c": 1, "n": np.where(right, 0, 2)}
    tables = [items.assign(slot=slot, text=captions[slot], score=scores[slot]) for slot in "cn"]
    pd.concat(tables).to_csv(tmp_path / "scores.csv", index=False)
    folder = tmp_path / "parts"
    folder.mkdir()
    audited = items.assign(
        row=range(n), positive="", negative="", bucket="x", partition=split, question=range(n)
    )
    audited["captions"] = [
        captions_digest(both) for both in zip(captions["n"], captions["c"], strict=True)
    ]
    audited.to_csv(folder / "per_sample_overlap.tsv", sep="\t", index=False)
    (folder / "excluded.tsv").write_text("row\titem\treason\tquestion\tcaptions\n")
    about = dict.fromkeys(("benchmark", "reference", "captions", "extractor", "match"), "x")
    (folder / "summary.json").write_text(json.dumps(about))
    out = tmp_path / "run"
    results = score_json(
        "measure", "--items", tmp_path / "scores.csv", "--splits", folder, "--out", out
    )
    gap = find(results, "binary", "full - seen")
    seen, rest = right[split == "seen"], right[split != "seen"]
    assert gap["value"] == pytest.approx(right.mean() - seen.mean(), abs=1e-6)
    error = len(rest) / n * np.sqrt(seen.var() / len(seen) + rest.var() / len(rest))
    assert (gap["high"] - gap["low"]) / (2 * 1.96) == pytest.approx(error, rel=0.15)
    assert find(results, "binary", "full")["items"] == n
    # the same scores with splits of their own again
    succeed("measure", "--items", tmp_path / "scores.csv", "--out", out)
    assert splits_of(out) is None


def test_models_are_compared_on_each_partition_and_on_all(
    benchmark: str, partitions: Path, tmp_path: Path
) -> None:
    for name, model in (("colors", Colors()), ("guesses", Guesses())):
        evaluate(model, benchmark, out=tmp_path / name, name=name, splits=partitions)
    comparison = compare([str(tmp_path / "colors"), str(tmp_path / "guesses")])
    sizes = {
        row["split"]: row["items"] for row in comparison["rows"] if row["kind"] == "replace_att"
    }
    assert sizes == {"full": 4, "seen": 2, "unseen": 2}
    assert [row["split"] for row in comparison["rows"] if row["kind"] == "swap_obj"] == [
        "full",
        "mixed",
    ]


def test_pairs_of_images_are_partitioned(tmp_path: Path) -> None:
    benchmark = f"winoground:{write_winoground(tmp_path / 'files')}"
    partitions = audited(benchmark, tmp_path / "out", "a red thing\na blue thing\n")
    evaluation = evaluate(Colors(), benchmark, out=tmp_path / "run", splits=partitions)
    rows = {
        split_of(row): row
        for row in evaluation.results["rows"]
        if row["metric"] == "group" and row["kind"] is None
    }
    assert [rows[split]["items"] for split in ("full", "seen", "mixed", "unseen")] == [3, 1, 1, 1]


@pytest.mark.parametrize(
    ("form", "split", "full"), [("differing", "excluded", 5), ("strict", "unparsed", 0)]
)
def test_excluded_questions_have_a_split_of_their_own(
    benchmark: str, tmp_path: Path, form: str, split: str, full: int
) -> None:
    """No caption is "the a1 o1 and the a2 o2"; of those that differ, a question is excluded where
    captions have the same bindings."""
    if form == "differing":
        file = tmp_path / "files" / "replace_att.json"
        rows = json.loads(file.read_text())
        rows["0"] |= {"caption": "a red car", "negative_caption": "the red car"}
        file.write_text(json.dumps(rows))
    partitions = audited(benchmark, tmp_path / "out", CORPUS, "--captions", form)
    evaluation = evaluate(Colors(), benchmark, out=tmp_path / "run", splits=partitions)
    of = values(evaluation.results)
    assert of["full"][0] == full
    assert of[split][0] == (1 if form == "differing" else 5)


def test_a_question_of_several_samples_is_mixed_unless_they_agree(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text(
        """item,protocol,image,text,truth,slot
a,binary,i,a red car,true,
a,binary,i,a gray car,false,
a,binary,i,an old car,false,
b,binary,i,a red car,true,
b,binary,i,a gray car,false,
b,binary,i,the red car,false,
b,binary,i,a green bus,true,context
c,binary,i,a red car,true,
"""
    )
    partitions = audited(f"table:{table}", tmp_path / "out")
    tables = benchmark_tables(read_table(table), table, False).by_name()
    written = write_questions(tmp_path / "b", "t", tables=tables)
    assert read_splits(partitions, Benchmark(written))["of"] == {
        "a": "mixed",
        "b": "seen",
        "c": "excluded",
    }


def test_mistakes_are_one_sentence(
    benchmark: str, partitions: Path, tmp_path: Path, drawn: Path
) -> None:
    out = tmp_path / "run"
    evaluate(Colors(), benchmark, out=out)
    before = (out / "results.json").read_bytes()
    assert_one_sentence(
        score_command("measure", out, "--splits", tmp_path / "files"), "has no summary.json"
    )
    one = audited(f"sugarcrepe:{tmp_path / 'files' / 'swap_obj.json'}", tmp_path / "one")
    assert_one_sentence(
        score_command("measure", out, "--splits", one),
        "no partition of 4 of 5 questions",
        "replace_att/",
    )
    for name, damage in (
        ("summary.json", b"[]"),
        ("excluded.tsv", b"\xff"),
        ("per_sample_overlap.tsv", b"row\n0\n"),
    ):
        whole = (partitions / name).read_bytes()
        (partitions / name).write_bytes(damage)
        assert_one_sentence(score_command("measure", out, "--splits", partitions), name)
        (partitions / name).write_bytes(whole)
    file = tmp_path / "files" / "swap_obj.json"
    file.write_text(file.read_text().replace("a blue dog", "a blue cat"))
    changed = audited(benchmark, tmp_path / "changed")
    assert_one_sentence(
        score_command("measure", out, "--splits", changed),
        "captions of question swap_obj/7 differ from the captions",
    )
    assert (out / "results.json").read_bytes() == before
    with pytest.raises(UserError, match="has splits of its own"):
        evaluate(Colors(), drawn, out=tmp_path / "own", splits=partitions)
