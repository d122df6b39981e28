"""What papers' tables are made of, what they select, and the files that they become."""

import copy
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evaluator.analysis.pooling import pool_runs
from evaluator.papers.counts import benchmark_labels
from evaluator.papers.crepe2023.tables import ITEMS_OF_SPLIT
from evaluator.papers.inputs import LabelledRuns, PaperInputs, read_inputs
from evaluator.papers.paper import find_paper, make_paper, paper_names, write_paper
from evaluator.papers.selection import by_label, grouped, over_n, select, selections
from evaluator.report.overview import notes_of
from evaluator.report.writers import csv_rows, latex
from evaluator.runs.folder import NamedRun
from generator.base.errors import UserError
from generator.base.files import read_json, write_json
from generator.dataset.counts import count_questions
from tests.evaluator.analysis.test_pooling import made_run
from tests.evaluator.analysis.test_pooling import trained as trained_run
from tests.evaluator.papers.conftest import cell, shows, tables_of
from tests.evaluator.report.conftest import ROW, compile_latex
from tests.evaluator.synthetic import Row, find

BINARY = {"protocol": "binary", "metric": "accuracy"}
CONTAMINATED = {
    "status": "contaminated",
    "overlaps": ["x"],
    "sentence": "CONTAMINATED: x were in training.",
}


PAPERS = ("hard-positives2024", "crepe2023")


def test_every_paper_has_tables_of_distinct_numbers() -> None:
    for name in paper_names():
        numbers = [table.number for table in find_paper(name).tables]
        assert len(set(numbers)) == len(numbers) > 0
    with pytest.raises(UserError, match="bindsplit2026"):
        find_paper("bindsplit")


class TestLabels:
    def test_a_label_has_parts_and_stands_beside_those_with_the_same_first_part(
        self, measured: Path
    ) -> None:
        labels = read_inputs(
            [f"a / x={measured}", f"b={measured}"], ["a / y=not trained.", "c=no weights"]
        ).labels
        assert [label.parts for label in labels] == [("a", "x"), ("a", "y"), ("b",), ("c",)]
        assert [len(label.entries) for label in labels] == [1, 0, 1, 0]
        assert labels[1].why_missing({"protocol": "binary"}) == "not trained"

    def test_a_label_may_have_any_number_of_parts(self) -> None:
        table = by_label([LabelledRuns(("a", "b", "c", "d", "e"))], [select("x", **BINARY)])
        assert table.labels == ["model", "variant", "variant 2", "variant 3", "variant 4"]
        assert {csv_cell["variant 4"] for csv_cell in csv_rows(table)} == {"e"}

    def test_designs_are_never_averaged(self) -> None:
        runs = [trained_run(0.5, "a", 0), trained_run(0.7, "a", 0, design={"world width": 96})]
        with pytest.raises(
            UserError, match=r"Several runs of 'm' answer the same question \(binary\).*LABEL=RUN"
        ):
            LabelledRuns(("m",), pool_runs(runs)).find({**BINARY, "split": "seen"})

    def test_why_a_row_is_missing(self) -> None:
        run = {
            **made_run(),
            "not_asked": {"pairs": "it scores one image at a time"},
            "left_out": ["productivity"],
        }
        label, raw = (
            LabelledRuns(("m",), pool_runs([run])),
            {"protocol": "productivity", "kind": "raw"},
        )
        assert (
            label.why_missing({"protocol": "pairs"})
            == "pairs was not asked, since it scores one image at a time"
        )
        assert label.why_missing(raw).startswith("raw retrieval of productivity was left out")
        assert (
            label.why_missing({"protocol": "binary"})
            == "no such items in the benchmarks of its runs"
        )
        assert (
            label.why_missing({"protocol": "gzsl"})
            == "protocol 'gzsl' not in the benchmarks of its runs"
        )
        assert LabelledRuns(("m",)).why_missing(raw) == "no run"

    @pytest.mark.parametrize("text", ["vilt", "=no weights", "vilt="])
    def test_a_reason_needs_a_label(self, text: str) -> None:
        with pytest.raises(UserError, match="Expected --missing LABEL=REASON"):
            read_inputs([], [text])


class TestSelecting:
    def test_lines_are_rows_and_labels_and_columns_stand_in_groups(
        self, paper_inputs: PaperInputs, results: Row
    ) -> None:
        columns = grouped(
            [select("S", kind="swap"), select("F", kind="flip")], [select("acc", **BINARY)]
        )
        rows = selections(
            paper_inputs.labels, "{}", ["split"], {**BINARY, "kind": ("swap", "flip")}
        )
        table = by_label(paper_inputs.labels, columns, rows, "split")
        assert table.labels == ["split", "model", "variant"]
        assert [(column.group, column.head) for column in table.columns] == [
            ("S", "acc"),
            ("F", "acc"),
        ]
        for split in ("seen", "partial", "unseen"):
            for group, kind in (("S", "swap"), ("F", "flip")):
                row = find(results, "binary", split, kind=kind)
                assert shows(cell(table, [split, "dual", "scratch"], "acc", group), row)
        seen = [
            find(results, "binary", split, kind="swap")["items"]
            for split in ("seen", "partial", "unseen")
        ]
        assert cell(table, ["items"], "acc", "S").text == f"{min(seen):,}–{max(seen):,}"
        assert [line.labels[0] for line in table.lines[-5:]] == [
            "chance",
            "items",
            "clusters",
            "unscored",
            "ties",
        ]
        assert [i for i, line in enumerate(table.lines) if line.rule] == [
            1,
            2,
            3,
        ]  # above each split, and the sizes
        assert table.notes[0] == "Not shown: dual / labclip (no weights)."
        assert cell(table, ["chance"], "acc", "S").text == "50.0"

    def test_values_are_those_of_the_rows_and_a_split_that_is_alone_is_not_named(
        self, paper_inputs: PaperInputs
    ) -> None:
        of = {"protocol": "skill", "metric": "R@1", "skill": "object"}
        heads = [
            column.head for column in selections(paper_inputs.labels, "{}", ["level", "split"], of)
        ]
        assert {"OA, seen", "OAR, unseen"} <= set(heads)
        assert not any("val" in head for head in heads)
        one = LabelledRuns(("m",), pool_runs([made_run()]))
        assert [column.head for column in selections([one], "{}", ["split"], BINARY)] == [""]

    def test_a_mean_over_n_has_the_deviation_over_n(
        self, paper_inputs: PaperInputs, results: Row
    ) -> None:
        of = {
            "protocol": "integration",
            "level": "OA",
            "split": "seen",
            "metric": "integration gap",
        }
        gaps = [
            row["value"]
            for row in results["rows"]
            if of.items() <= row.items() and row["n"] and not row["is_gap"]
        ]
        mean = over_n(paper_inputs.labels[0], of).numbers
        assert (mean["value"], mean["sd"]) == pytest.approx(
            (np.mean(gaps), np.std(gaps, ddof=1)), abs=1e-5
        )
        assert over_n(paper_inputs.labels[1], of).reason == "no weights"

    def test_a_mean_over_n_of_pooled_runs_has_the_deviation_over_n_too(self) -> None:
        """Not that over the runs of a block, nor over blocks."""
        values = {None: 0.5, 1: 0.4, 2: 0.6}
        runs = []
        for block, seed, more in (("a", 0, 0.0), ("a", 1, 0.1), ("b", 0, 0.3)):
            run = trained_run(0.5, block, seed)
            runs.append(
                {
                    **run,
                    "rows": [{**ROW, "n": n, "value": value + more} for n, value in values.items()],
                }
            )
        label = LabelledRuns(("m",), [{**entry, "model": "m"} for entry in pool_runs(runs)])
        mean_cell = over_n(label, {**BINARY, "split": "seen"})
        assert label.entries[0]["rows"][0]["sd_blocks"] > 0 < label.entries[0]["rows"][0]["sd_runs"]
        assert mean_cell.numbers["sd"] == pytest.approx(np.std([0.4, 0.6], ddof=1))
        assert mean_cell.text.endswith(" ± 14.1")
        assert (mean_cell.numbers["sd_blocks"], mean_cell.numbers["sd_runs"]) == (None, None)


class TestNotes:
    def test_models_are_named_where_what_is_said_differs(self) -> None:
        """And runs, limits and unknown training are said."""
        one = {**made_run(), "model": "a", "runs": 1, "blocks": 1}
        other = {**one, "model": "b", "certificate": "not verified", "runs": 6, "blocks": 3}
        notes = notes_of([one, {**other, "rules": {**one["rules"], "limit": 9}}])
        assert {
            "Datasets: clean (a); not verified (b).",
            "Pooled: 6 runs over 3 blocks.",
            "b: at most 9 items of a protocol.",
            "Training data unknown: a, b.",
        } <= set(notes)
        assert notes[0].startswith(
            "In %, differences in points. The 95% intervals cover this vocabulary (8 values, 12 "
            "objects); bindings like these; this model."
        )
        assert "Datasets: clean." in notes_of([one, one])

    def test_contaminated_models_mark_the_table_in_one_sentence(self) -> None:
        runs = [{**made_run(model=model), "training": CONTAMINATED} for model in "ab"]
        first, second, plain = (
            LabelledRuns(("m",), [entry]) for entry in pool_runs([*runs, made_run()])
        )
        columns = [select("x", split="seen", **BINARY)]
        assert (
            by_label([first, plain, second], columns).mark
            == "a, b: CONTAMINATED: x were in training."
        )
        assert by_label([plain], columns).mark == ""


class TestCounts:
    def test_a_line_is_a_dataset_and_its_numbers_those_of_its_questions(
        self, paper_inputs: PaperInputs
    ) -> None:
        table = tables_of("crepe2023", PaperInputs([*paper_inputs.labels, *paper_inputs.labels]))[
            "4-productivity"
        ]
        assert table.labels == ["n", "dataset"]
        benchmark = paper_inputs.labels[0].runs[0].run.benchmark
        expected = count_questions(
            benchmark, [("protocol", "n", "split"), ("protocol", "kind", "n", "split")]
        )
        own = [
            row for row in expected if row["protocol"] == "productivity" and row["split"] == "seen"
        ]
        columns = {None: ("Ground truth", "captions"), "atom": ("HN-ATOM", "false_texts")}
        printed_rows = [row for row in own if row.get("kind") in columns]
        assert len(printed_rows) == 6
        for row in printed_rows:
            head, name = columns[row.get("kind")]
            assert cell(table, [f"n = {row['n']}, seen", "all"], head).numbers["value"] == row[name]

    def test_datasets_of_one_name_are_told_apart_by_their_blocks(
        self, paper_inputs: PaperInputs
    ) -> None:
        (named,) = paper_inputs.labels[0].runs
        run, results = named.run, named.results
        other = copy.copy(run.benchmark)
        other.manifest = {**other.manifest, "sums": "f" * 64}
        runs = [run, replace(run, benchmark=other)]
        for seeds, expected in (
            ((0, 1), ["all, block 0", "all, block 1"]),
            ((None, None), [f"all, {run.benchmark.digest[:8]}", "all, ffffffff"]),
        ):
            results_of_seeds = [
                {**results, "factors": {**results["factors"], "block_seed": seed}} for seed in seeds
            ]
            both = replace(paper_inputs.labels[0], runs=[*map(NamedRun, runs, results_of_seeds)])
            assert [label.name for label in benchmark_labels(PaperInputs([both]))] == expected

    def test_a_table_that_no_dataset_fills_is_left_out(self, paper_inputs: PaperInputs) -> None:
        for inputs in (paper_inputs, PaperInputs([LabelledRuns(("m",), missing="no run")])):
            assert "1" not in tables_of("pearson2025", inputs)


def test_each_label_shows_its_best_texts_of_the_same_items(paper_inputs: PaperInputs) -> None:
    table = tables_of("crepe2023", paper_inputs)["13"]
    assert [line.labels[0] for line in table.lines] == ["SC"] * ITEMS_OF_SPLIT + [
        "UC"
    ] * ITEMS_OF_SPLIT
    run = paper_inputs.labels[0].runs[0].run
    top = pd.read_csv(run.folder / "tables" / "top.csv", keep_default_na=False)
    own = top[(top["kind"] == "both") & (top["protocol"] == "systematicity")].sort_values("rank")
    images_of_texts = {}
    for (_, image), best in own.groupby(["item_id", "scene_id"]):
        images_of_texts["; ".join(f"{i}. {text}" for i, text in enumerate(best["text"], 1))] = (
            image,
            best["truth"].iloc[0],
        )
    for line in table.lines:
        right, texts, none, _ = line.cells
        assert (line.labels[1], bool(int(right.text))) == images_of_texts[texts.text]
        assert line.labels[2] in run.benchmark.text_of.values()
        assert none.reason == "no weights"
    assert "13" not in tables_of("crepe2023", PaperInputs([LabelledRuns(("m",), missing="no run")]))


class TestElsewhere:
    @pytest.fixture
    def run_of(self, measured: Path, tmp_path: Path) -> Callable[..., str]:
        """Writes a run as if a model had made it: its name, what is known of it, and the main
        accuracy of binary."""

        def write(model: str, share: float, **info: Any) -> str:
            folder = tmp_path / model
            shutil.copytree(measured, folder)
            write_json(
                folder / "run.json",
                {**read_json(folder / "run.json"), "model": model, "info": info},
            )
            results = read_json(folder / "results.json")
            for row in results["rows"]:
                if BINARY.items() <= row.items() and row["split"] == "seen" and not row["is_gap"]:
                    row |= {"value": share, "low": share - 0.1, "high": share + 0.05}
            write_json(folder / "results.json", {**results, "model": model})
            return str(folder)

        return write

    def _trained(self, weights: str, base: str) -> dict[str, Any]:
        return {
            "weights_sha256": weights,
            "trained_on": {"base": {"model": "base", "weights_sha256": base}},
        }

    @pytest.mark.full
    def test_each_trained_model_counts_as_a_run_and_is_compared_with_its_base(
        self, measured: Path, run_of: Callable[..., str]
    ) -> None:
        """Three trainings of one base; the base is given with each of them and counts once."""
        base, values = run_of("base", 0.6, weights_sha256="b"), [0.4, 0.5, 0.6]
        after = [
            run_of(f"tuned{i}", value, **self._trained(f"t{i}", "b"))
            for i, value in enumerate(values)
        ]
        labels = [f"HN={measured}", f"control={measured}"]
        inputs = read_inputs(
            labels, (), before=[f"HN={base}"] * 3, after=[f"HN={run}" for run in after]
        )
        named = [(entry["runs"], entry["model"]) for entry in inputs.labels[0].before_and_after]
        assert named == [(1, "HN, before"), (3, "HN, after")]
        table = tables_of("hard-positives2024", inputs)["10"]
        line = next(
            line.labels for line in table.lines if "binary accuracy swap seen" in line.labels[0]
        )
        assert line[1] == "HN"
        assert [cell(table, line, head).text for head in ("After", "Change")] == [
            "50.0 ± 10.0",
            "-10.0",
        ]
        # The value is none of the run's items, and a t over blocks has no interval for one block.
        assert cell(table, line, "After").interval == ""
        why = "it was not measured elsewhere before and after its training (--before and --after)"
        assert table.notes[0] == f"Not shown: control ({why})."
        assert not [line for line in table.lines if "mean score" in line.labels[0]]
        assert "10" not in tables_of("hard-positives2024", read_inputs([f"HN={measured}"]))
        note = "Nothing of this paper shows runs of --before and --after."
        assert [note in make_paper(find_paper(name), inputs).not_made for name in PAPERS] == [
            False,
            True,
        ]

    def test_mistakes_are_named(self, run_of: Callable[..., str]) -> None:
        base = run_of("base", 0.6, weights_sha256="b")
        other = run_of("other", 0.6, **self._trained("t", "changed"))
        with pytest.raises(
            UserError, match=r"did not start from a model that --before gives for 'HN'"
        ):
            read_inputs([], (), before=[f"HN={base}"], after=[f"HN={other}"])
        with pytest.raises(UserError, match="Expected --before LABEL=RUN"):
            read_inputs([], (), before=[base])


class TestFiles:
    def test_a_table_is_three_files_and_a_figure_one(
        self, paper_inputs: PaperInputs, results: Row, tmp_path: Path
    ) -> None:
        outputs = make_paper(find_paper("hard-positives2024"), paper_inputs)
        files = write_paper(outputs, tmp_path / "a" / "b")
        names = {path.name for path in files}
        assert names == {path.name for path in (tmp_path / "a" / "b").iterdir()}
        assert names == {
            f"table{n}.{suffix}"
            for n in (1, "1-converse", 2, 7, 8, 9)
            for suffix in ("csv", "md", "tex")
        }
        table = pd.read_csv(tmp_path / "a" / "b" / "table1.csv")
        brittleness = table[
            (table["group"] == "SWAP")
            & (table["column"] == "Brittleness")
            & (table["variant"] == "scratch")
        ]
        for split, value in zip(brittleness["split"], brittleness["value"], strict=True):
            assert (
                value
                == find(results, "hard_positives", split, kind="swap", metric="brittleness")[
                    "value"
                ]
            )
        assert (
            "Not shown: dual / labclip (no weights)."
            in (tmp_path / "a" / "b" / "table1.md").read_text()
        )

    def test_empty_tables_and_missing_figures_are_named_with_their_reason(
        self, paper_inputs: PaperInputs, tmp_path: Path
    ) -> None:
        outputs = make_paper(find_paper("bindsplit2026"), paper_inputs)
        assert set(outputs.tables) == {"table2", "table9", "table10"}
        assert {
            "Table 4 (R@1 by split after fine-tuning) has no number: no label has the part "
            "'finetuned'.",
            "Figure 2 is not drawn: no run has results of `retrieval`.",
            "Figure 3 is not drawn: no result of `score familiarity` was given.",
        } <= set(outputs.not_made)
        assert {path.suffix for path in write_paper(outputs, tmp_path)} == {
            ".csv",
            ".md",
            ".tex",
            ".svg",
            ".pdf",
            ".png",
        }


@pytest.mark.full
def test_tables_of_papers_compile(paper_inputs: PaperInputs, tmp_path: Path) -> None:
    tables = [
        latex(table) for paper in paper_names() for table in tables_of(paper, paper_inputs).values()
    ]
    compile_latex("\n\\clearpage\n".join(tables), tmp_path)
