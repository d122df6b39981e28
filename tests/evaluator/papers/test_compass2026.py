"""The tables of COMPASS show the rows and fits of the results."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.papers.inputs import PaperInputs, read_inputs
from evaluator.papers.paper import find_paper, make_paper
from evaluator.report.writers import csv_rows
from tests.evaluator.papers.conftest import cell, shows, tables_of
from tests.evaluator.synthetic import Row, find


def test_the_gap_by_level_and_by_n(paper_inputs: PaperInputs, results: Row) -> None:
    tables = tables_of("compass2026", paper_inputs)
    for level, number in (("OA", "6"), ("OAR", "8")):
        for split in ("seen", "partial", "unseen"):
            of = {"level": level, "metric": "integration gap"}
            row = find(results, "integration", split, n=None, **of)
            mean = cell(tables["2"], [split, "dual", "scratch"], level)
            assert mean.numbers["value"] == row["value"]
            assert "±" in mean.text
            same = cell(tables[number], [f"mean, sd over n, {split}", "dual", "scratch"], "Δ")
            assert same.numbers["value"] == row["value"]
            one = find(results, "integration", split, n=4, level=level, metric="R@1 composed")
            assert shows(cell(tables[number], [f"4, {split}", "dual", "scratch"], "C"), one)
    assert [note for note in tables["2"].notes if "±" in note] == [
        "± is the standard deviation over n."
    ]
    assert "7" not in tables  # no captions of objects and relations


def test_skill_loads_by_level_and_count(paper_inputs: PaperInputs, results: Row) -> None:
    table = tables_of("compass2026", paper_inputs)["3"]
    for fit in (fit for fit in results["fits"] if fit["split"] == "seen" and fit["coefficients"]):
        label = [f"{fit['level']}, seen", "dual", "scratch"]
        for count in ("objects", "attributes", "relations"):
            beta_cell = cell(table, label, f"β {count}", fit["skill"])
            coefficient = fit["coefficients"].get(f"n_{count}")
            if coefficient is None:
                assert beta_cell.reason == "this count does not vary"
            else:
                assert beta_cell.numbers["beta"] == coefficient["beta"]
                assert beta_cell.stars == coefficient["stars_corrected"]


def test_a_partition_without_a_fit_has_no_load(paper_inputs: PaperInputs) -> None:
    (entry,) = paper_inputs.labels[0].entries
    others = [fit for fit in entry["fits"] if fit["split"] != "seen"]
    label = replace(paper_inputs.labels[0], entries=[{**entry, "fits": others}])
    table = tables_of("compass2026", PaperInputs([label]))["3"]
    assert (
        cell(table, ["OA, seen"], "β objects", "object").reason == "no load is fitted on this split"
    )


KIND_OF = {"skill": "targeted", "integration": "composed"}


def audit_of_texts() -> dict[str, Any]:
    """What `score audit` writes about a benchmark, as far as the tables read it."""
    effects = {
        ("skill", "OA", "object"): 0.062,
        ("skill", "OR", "relation"): 0.267,
        ("integration", "OA", None): 0.152,
    }
    levels = [
        {
            "protocol": protocol,
            "kind": KIND_OF[protocol],
            "level": level,
            "skill": skill,
            "perplexity": {"r": r, "size": "small", "pairs": 1200},
        }
        for (protocol, level, skill), r in effects.items()
    ]
    blind_accuracies = {
        ("skill", "object", None, "c"): 0.50,
        ("integration", None, "object", "c"): 0.49,
        ("integration", None, "attribute", "c"): 0.597,
        ("integration", None, "attribute", "d"): 0.7,
        ("skill", "relation", None, "c"): None,
    }
    kinds = []
    for (protocol, skill, negatives, role), value in blind_accuracies.items():
        low, high = (value - 0.03, value + 0.03) if value is not None else (None, None)
        kinds.append(
            {
                "protocol": protocol,
                "kind": KIND_OF[protocol],
                "skill": skill,
                "negatives": negatives,
                "role": role,
                "blind": {"value": value, "low": low, "high": high},
            }
        )
    return {
        "benchmark": "compass2026",
        "language_model": {"name": "gpt2"},
        "kinds": kinds,
        "levels": levels,
    }


@pytest.fixture
def audit_inputs(tmp_path: Path) -> PaperInputs:
    (tmp_path / "texts.json").write_text(json.dumps(audit_of_texts()))
    return read_inputs([str(tmp_path / "texts.json")])


def test_effect_sizes_are_those_of_the_file_of_an_audit(audit_inputs: PaperInputs) -> None:
    tables = tables_of("compass2026", audit_inputs)
    assert cell(tables["4"], ["OA, object", "compass2026"], "r").text == "0.062"
    assert cell(tables["4"], ["OR, relation", "compass2026"], "pairs").text == "1,200"
    assert cell(tables["4"], ["OAR, object", "compass2026"], "r").reason
    assert cell(tables["5"], ["OA", "compass2026"], "Interpretation").text == "small"
    interpretations = {
        csv_cell["text"]
        for csv_cell in csv_rows(tables["5"])
        if csv_cell["column"] == "Interpretation"
    }
    assert interpretations == {"small", None}
    assert tables["5"].notes[0] == "compass2026: compass2026, perplexity of gpt2."


def test_blind_accuracies_are_those_of_the_file_of_an_audit(audit_inputs: PaperInputs) -> None:
    tables = tables_of("compass2026", audit_inputs)
    assert "Blind accuracy" in tables["5"].notes[1]
    # Of several kinds of negatives, the one that reveals most.
    blind = cell(tables["5"], ["OA", "compass2026"], "Blind accuracy")
    assert blind.text.startswith("59.7")
    assert (blind.numbers["low"], blind.numbers["high"]) == pytest.approx((0.567, 0.627))
    of_objects = cell(tables["4"], ["OA, object", "compass2026"], "Blind accuracy")
    assert of_objects.text.startswith("50.0")
    assert cell(tables["4"], ["OR, relation", "compass2026"], "Blind accuracy").reason


def test_another_paper_says_what_the_file_of_an_audit_lacks(audit_inputs: PaperInputs) -> None:
    assert "shows" in make_paper(find_paper("crepe2023"), audit_inputs).not_made[-1]


def test_captions_are_counted_by_level_and_skill(paper_inputs: PaperInputs) -> None:
    table = tables_of("compass2026", paper_inputs)["1"]
    benchmark = paper_inputs.labels[0].runs[0].run.benchmark
    rows = benchmark.candidates.to_pandas().merge(benchmark.items.to_pandas(), on="item_id")
    rows = rows.merge(benchmark.texts.to_pandas(), on="text_id")
    rows = rows[
        rows["truth"] & (rows["slot"] == "c") & (rows["level"] == "OA") & (rows["split"] == "seen")
    ]
    of_objects = rows[(rows["protocol"] == "skill") & (rows["skill"] == "object")]
    for column, counted in ((("Ground truth",), rows), (("object", "Skill"), of_objects)):
        captions = counted[["scene_id", "text_id"]].drop_duplicates()
        assert cell(table, ["OA, seen", "all"], *column).numbers["value"] == len(captions) > 0
