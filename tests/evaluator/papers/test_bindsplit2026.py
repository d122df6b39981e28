"""The tables of BindSplit show the rows of the results."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluator import evaluate
from evaluator.papers.inputs import PaperInputs, read_inputs
from evaluator.papers.paper import find_paper, make_paper
from tests.evaluator.audits.familiarity.test_audit import PUBLISHED
from tests.evaluator.benchmarks.conftest import Colors, write_bivlc, write_sugarcrepe, write_vismin
from tests.evaluator.papers.conftest import cell, shows, tables_of
from tests.evaluator.runs.test_partitions import CORPUS, audited
from tests.evaluator.synthetic import Row, find


def test_accuracy_and_pairs_by_split(paper_inputs: PaperInputs, results: Row) -> None:
    tables = tables_of("bindsplit2026", paper_inputs)
    label = ["dual", "scratch"]
    for head, split in (("Seen", "seen"), ("Partially unseen", "partial"), ("Unseen", "unseen")):
        assert shows(
            cell(tables["2"], label, head, "Binary accuracy"),
            find(results, "binary", split, kind="swap"),
        )
        assert (
            cell(tables["2"], label, head, "R@1").reason
            == "protocol 'retrieval' not in the benchmarks of its runs"
        )
        for name in ("group", "text", "image"):
            row = find(results, "pairs", split, metric=name)
            assert shows(cell(tables["9"], ["swap", *label], name.capitalize(), head), row)
    assert "…" not in {
        line.labels[0] for line in tables["9"].lines
    }  # of one kind there is no row of all
    gap = find(results, "pairs", "seen - unseen", metric="group")
    assert shows(cell(tables["10"], ["swap", *label], "Seen − unseen"), gap)


def test_table_11_has_the_finetuned_models_alone(paper_inputs: PaperInputs) -> None:
    tuned = replace(paper_inputs.labels[0], parts=("dual", "finetuned"))
    tables = tables_of("bindsplit2026", PaperInputs([*paper_inputs.labels, tuned]))
    assert {line.labels[2] for line in tables["11"].lines} == {"finetuned", ""}
    assert {line.labels[2] for line in tables["9"].lines} == {"scratch", "finetuned", ""}


def shares(perfect: float, close: float) -> dict[str, float]:
    """Of the bindings of a side."""
    return {"perfect": perfect, "close": close, "none": 1 - perfect - close}


def written(folder: Path, **more: Any) -> str:
    """A folder of `score familiarity` with the published counts of ARO VG-A."""
    folder.mkdir()
    (folder / "per_sample_overlap.tsv").write_text("")
    summary = {
        "bindings": {"positive": shares(0.798, 0.1), "negative": shares(0.418, 0.132)},
        "bindings_mixed": {"positive": shares(0.769, 0.1), "negative": shares(0.309, 0.161)},
        "benchmark": "aro:vga",
        "reference": "coco",
        "captions": "strict",
        "match": "lemmas",
        "samples": 28748,
        "excluded": {"no strict form": 2240},
        "buckets": PUBLISHED,
        "rates": {
            "strict": {"seen": 0.1633, "unseen": 0.0284},
            "loose": {"seen": 0.2756, "unseen": 0.0118},
        },
        **more,
    }
    (folder / "summary.json").write_text(json.dumps(summary))
    return str(folder)


def test_tables_of_an_audit_are_those_of_the_paper_for_its_counts(tmp_path: Path) -> None:
    strict = written(tmp_path / "a")
    free = written(tmp_path / "b", captions="free", benchmark="bivlc:x")
    tables = tables_of("bindsplit2026", read_inputs([f"ARO VG-A={strict}", free]))
    expected = {
        "full": ["26,508", "100.0"],
        "seen": ["4,329", "16.3"],
        "mixed": ["21,865", "82.5"],
        "unseen": ["314", "1.2"],
        "excluded": ["2,240", "7.8"],
    }
    for row, texts in expected.items():
        assert [cell(tables["1"], [row, "ARO VG-A"], head).text for head in ("Count", "%")] == texts
    assert cell(tables["1"], ["full", "bivlc:x"], "Count").text == "28,748"
    assert (
        cell(tables["19"], ["amb_mixed: perfect, close and none → mixed", "ARO VG-A"], "Count").text
        == "5,270"
    )
    rates = [
        cell(tables["20"], [rule, "ARO VG-A"], head).text
        for rule in ("STRICT: seen is perfect", "LOOSE: seen is perfect or close")
        for head in ("% all seen", "% all unseen")
    ]
    assert rates == ["16.3", "2.8", "27.6", "1.2"]


def test_figure_3_shows_the_asymmetry_of_all_and_of_the_mixed_samples(tmp_path: Path) -> None:
    outputs = make_paper(
        find_paper("bindsplit2026"), read_inputs([f"ARO VG-A={written(tmp_path / 'a')}"])
    )
    svg = outputs.figures["figure3.svg"].decode()
    for label in (
        "full (26,508 samples)",
        "mixed (21,865)",
        "79.8",
        "41.8",
        "76.9",
        "30.9",
        "53.0",
    ):
        assert f">{label}<" in svg, label


def test_runs_with_partitions_fill_the_tables_of_real_benchmarks(tmp_path: Path) -> None:
    """Of sugarcrepe all partitions have items; of bivlc none is partly seen; of vismin all is
    unseen."""
    hats, runs, results = "a red hat\na blue hat\n", [], []
    written = {
        "sugarcrepe": (write_sugarcrepe, CORPUS),
        "bivlc": (write_bivlc, hats),
        "vismin": (write_vismin, hats),
    }
    for name, (write, corpus) in written.items():
        benchmark = f"{name}:{write(tmp_path / name)}"
        partitions = audited(benchmark, tmp_path / f"parts-{name}", corpus)
        evaluation = evaluate(
            Colors(), benchmark, out=tmp_path / f"run-{name}", name="m", splits=partitions
        )
        runs.append(f"m / finetuned={tmp_path / f'run-{name}'}")
        results.append(evaluation.results)
    tables, label = tables_of("bindsplit2026", read_inputs(runs)), ["m", "finetuned"]
    heads = {"Full": "full", "Seen": "seen", "Mixed": "mixed", "Unseen": "unseen"}
    for number in ("5", "7"):
        for head, split in heads.items():
            row = find(results[0], "binary", split, metric="accuracy", kind=None)
            assert shows(cell(tables[number], ["all kinds", *label], head), row)
    assert cell(tables["5"], ["swap_obj", *label], "Seen").reason == "this split has no items"
    assert cell(tables["6"], ["all kinds", *label], "Mixed − seen").text == "-100.0"
    assert any("Splits are by familiarity" in note for note in tables["5"].notes)
    assert [column.group for column in tables["9"].columns] == [
        split for split in heads for _ in range(4)
    ]
    matched = find(results[1], "pairs", "full", metric="matching", kind="Replace Attribute")
    assert shows(
        cell(tables["9"], ["bivlc, Replace Attribute", *label], "Matching", "Full"), matched
    )
    group = find(results[1], "pairs", "full", metric="group")
    assert shows(cell(tables["9"], ["bivlc, Replace Attribute", *label], "Group", "Full"), group)
    for table, vismin in (("9", "vismin, "), ("13", "")):
        group_cell = cell(tables[table], [f"{vismin}counting", *label], "Group", "Full")
        assert shows(group_cell, find(results[2], "pairs", "full", metric="group", kind="counting"))
        assert (
            cell(tables[table], [f"{vismin}counting", *label], "Group", "Seen").reason
            == "this split has no items"
        )
    assert not any("bivlc" in line.labels[0] for line in tables["13"].lines)
    gaps = ["Full − seen", "Mixed − seen", "Seen − unseen", "Full − unseen"]
    assert [column.head for column in tables["10"].columns] == gaps
    assert cell(tables["18"], ["Full", *label], "ARO VG-A").reason
    group_cell = cell(tables["18"], ["Full", *label], "VisMin (group)")
    assert group_cell == cell(tables["13"], ["all kinds", *label], "Group", "Full")
    assert cell(tables["17"], label, "Full", "VisMin (group)").text == "100.0"
