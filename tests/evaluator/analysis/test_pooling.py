"""Runs of one experiment become one result; runs of different designs never do."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator import Evaluation, pool
from evaluator.analysis.pooling import differences, pool_runs, spread_notes
from evaluator.protocols.records import STATISTICS
from evaluator.provenance.contamination import unknown_training
from evaluator.statistics.blocks import block_mean
from tests.evaluator.report.conftest import ROW
from tests.evaluator.synthetic import FACTORS, Row


def made_run(
    value: float | None = 0.5, model: str = "m", rows: tuple[Row, ...] = (), **factors: Any
) -> Row:
    """The results of a run with one row, and others."""
    all_factors = {**FACTORS, "model": model, **factors}
    low = None if value is None else value - 0.1
    high = None if value is None else value + 0.05
    row = {**ROW, "value": value, "low": low, "high": high, "low_wider": low, "high_wider": high}
    return {
        "model": f"{model}@{all_factors['training_seed']}",
        "benchmark": f"bench-{all_factors['block']}",
        "certificate": "clean",
        "factors": all_factors,
        "training": unknown_training(),
        "rules": {"level": 0.95, "tie_tolerance": 1e-5},
        "rows": [row, *({**ROW, **changes} for changes in rows)],
        "cells": [],
        "fits": [],
        "unknown_protocols": {},
        "not_asked": {},
        "channel": "cosine",
        "sampled_pools": {},
    }


def trained(value: float, block: str, seed: int, **more: Any) -> Row:
    return made_run(value, block=block, benchmark=f"{block}/{seed}", training_seed=seed, **more)


def test_blocks_and_training_seeds_are_told_apart() -> None:
    values = {
        ("a", 0): 0.4,
        ("a", 1): 0.6,
        ("b", 0): 0.7,
        ("b", 1): 0.7,
        ("c", 0): 0.9,
        ("c", 1): 0.7,
    }
    (entry,) = pool_runs([trained(value, block, seed) for (block, seed), value in values.items()])
    (row,) = entry["rows"]
    expected = block_mean(list(values.values()), [block for block, _ in values], 0.95)
    assert (entry["runs"], entry["blocks"], entry["benchmark"]) == (
        6,
        3,
        "bench-a, bench-b, bench-c",
    )
    assert (row["value"], row["low"], row["high"]) == pytest.approx(
        (expected.value, expected.low, min(1, expected.high)), abs=1e-6
    )
    assert (row["min_blocks"], row["max_blocks"], row["sd_blocks"]) == pytest.approx(
        (0.5, 0.8, 0.152753), abs=1e-6
    )
    assert row["sd_runs"] == pytest.approx((2 * (0.1**2 + 0.1**2) / 3) ** 0.5, abs=1e-6)
    assert (row["items"], row["clusters"], row["ties"]) == (6 * 1200, 3 * 30, 18)
    assert row["p"] == pytest.approx(expected.p(row["chance"]), abs=1e-6)
    assert row["low_fixed"] is None


def test_a_statistic_that_pooling_does_not_know_is_that_of_one_run_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evaluator.analysis.pooling.STATISTICS", (*STATISTICS, "iqr"))
    runs = [trained(0.5, block, 0) for block in "ab"]
    for run, iqr in zip(runs, (0.1, 0.9), strict=True):
        run["rows"][0]["iqr"] = iqr
    assert pool_runs(runs)[0]["rows"][0]["iqr"] is None
    assert pool_runs(runs[1:])[0]["rows"][0]["iqr"] == 0.9


def test_loads_are_pooled_too() -> None:
    numbers = {"error": 1.0, "low": -8.0, "high": -4.0, "p": 0.001, "load": "self"}
    fit = {
        "protocol": "skill",
        "split": "seen",
        "level": "O",
        "skill": "object",
        "items": 5,
        "clusters": 4,
        "reason": None,
    }
    runs = [
        {
            **trained(0.5, block, 0),
            "fits": [{**fit, "coefficients": {"n_objects": {**numbers, "beta": beta}}}],
        }
        for block, beta in (("a", -5.0), ("b", -7.0))
    ]
    [pooled] = pool_runs(runs)[0]["fits"]
    assert (pooled["coefficients"]["n_objects"]["beta"], pooled["items"], pooled["clusters"]) == (
        -6,
        10,
        8,
    )


def test_runs_without_their_items_speak_of_blocks() -> None:
    (entry,) = pool_runs([trained(value, block, 0) for value, block in ((0.5, "a"), (0.6, "b"))])
    assert entry["rows"][0]["population"] == "blocks like these; new trainings"
    (alone,) = pool_runs([trained(value, "a", seed) for value, seed in ((0.5, 0), (0.6, 1))])
    assert (alone["rows"][0]["low"], alone["rows"][0]["p"]) == (None, None)


def turn_run(folder: Path, turn: int, seed: int, rng: np.random.Generator) -> Row:
    """A run of a turn: 60 images, of which a quarter are unseen in each turn and right less
    often."""
    lines = [
        "protocol,metric,kind,skill,level,split,n_objects,n_attributes,n_relations,scene_id,cluster,"
        "bindings,value,unscored"
    ]
    outcomes: dict[str, list[int]] = {"seen": [], "unseen": []}
    for image in range(60):
        split = "unseen" if image % 4 == turn else "seen"
        right = int(rng.random() < (0.5 if split == "unseen" else 0.9))
        outcomes[split].append(right)
        names = f"s{image},c{image % 4},v{image % 4}:o{image % 3}"
        lines.append(f"p,m,,,,{split},2,1,0,{names},{right},")
    (folder / "tables").mkdir(parents=True)
    (folder / "tables" / "items.csv").write_text("\n".join(lines))
    seen, unseen = (float(np.mean(outcomes[split])) for split in ("seen", "unseen"))
    labels = {
        "protocol": "p",
        "metric": "m",
        "error": None,
        "kind": None,
        "skill": None,
        "level": None,
        "n": None,
    }
    row = {**ROW, **labels, "is_gap": False, "minus": None, "unit": "share", "chance": 0.5}
    gap = {
        **row,
        "split": "seen",
        "minus": "unseen",
        "is_gap": True,
        "unit": "difference",
        "value": seen - unseen,
    }
    rows = (
        {**row, "split": "seen", "value": seen},
        {**row, "split": "unseen", "value": unseen},
        gap,
    )
    run = trained(0.5, f"turn{turn}", seed)
    run["factors"]["benchmark"] = f"b{turn}/world"
    return {**run, "rows": list(rows), "folder": str(folder)}


def test_turns_are_one_analysis_of_their_items(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    runs = [
        turn_run(tmp_path / f"{turn}-{seed}", turn, seed, rng)
        for turn in range(4)
        for seed in range(2)
    ]
    (entry,) = pool_runs(runs)
    seen, unseen, gap = entry["rows"]
    assert "folder" not in entry
    assert unseen["value"] == pytest.approx(
        np.mean([run["rows"][1]["value"] for run in runs]), abs=1e-6
    )
    assert unseen["population"] == "this vocabulary (4 values, 3 objects); new trainings"
    assert (
        unseen["low_wider"]
        < unseen["low"]
        < unseen["value"]
        < unseen["high"]
        < unseen["high_wider"]
    )
    assert gap["same_images"] is True
    assert 0 < gap["low"] < gap["value"] < gap["high"]
    assert gap["p"] < 0.01
    assert seen["p"] < 0.01
    # With one training a turn, bindings cannot be told from trainings.
    (once,) = pool_runs(runs[::2])
    assert (
        once["rows"][1]["population"]
        == "this vocabulary (4 values, 3 objects); bindings like these; new trainings"
    )
    assert any("one training" in note for note in spread_notes([once]))


def test_evaluations_in_memory_are_pooled_as_their_folders_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Results of `evaluate` have no folder; the evaluation has."""
    rng = np.random.default_rng(0)
    runs = [turn_run(tmp_path / f"{turn}", turn, 0, rng) for turn in range(4)]
    without_folder = [
        {name: value for name, value in run.items() if name != "folder"} for run in runs
    ]
    evaluations = [
        Evaluation(Path(run["folder"]), results)
        for run, results in zip(runs, without_folder, strict=True)
    ]
    assert pool(evaluations) == pool_runs(runs)
    assert caplog.text == ""
    (entry,) = pool_runs(without_folder)
    assert entry["rows"][2]["population"] == "blocks like these; new trainings"
    assert "intervals are Student's t over blocks" in caplog.text


def test_one_run_keeps_its_rows() -> None:
    run = made_run()
    (entry,) = pool_runs([run])
    named = {**run["rows"][0], "model": entry["model"], "benchmark": entry["benchmark"]}
    assert {name: entry["rows"][0][name] for name in named} == named
    assert (entry["fits"], entry["runs"], entry["rows"][0]["sd_runs"]) == (run["fits"], 1, None)


def test_a_run_that_is_given_twice_counts_once(caplog: pytest.LogCaptureFixture) -> None:
    (entry,) = pool_runs([made_run(), made_run(), made_run(0.7, block="other", benchmark="other")])
    assert (entry["runs"], entry["blocks"], entry["rows"][0]["value"]) == (2, 2, 0.6)
    assert "m@None on bench-k is given twice; it counts once." in caplog.text


@pytest.mark.parametrize(
    "change", [{"design": {"world width": 96}}, {"treatment": {"epochs": 9}}, {"model": "n"}]
)
def test_runs_that_differ_in_more_than_seeds_are_not_averaged(change: Row) -> None:
    runs = [trained(0.4, "a", 0), trained(0.8, "b", 1, **change)]
    entries = pool_runs(runs)
    assert [entry["rows"][0]["value"] for entry in entries] == [0.4, 0.8]
    notes = differences(entries)
    assert notes == (["Not averaged: world width is null or 96."] if "design" in change else [])


def test_names_of_entries_say_what_of_the_treatment_differs() -> None:
    entries = pool_runs(
        [made_run(treatment={"epochs": 5, "negatives": on}, training_seed=0) for on in ("swap", "")]
        + [made_run(model="clip")]
    )
    assert [entry["model"] for entry in entries] == [
        "m, negatives swap",
        "m, negatives none",
        "clip",
    ]


def test_a_model_that_was_trained_here_is_called_by_its_folder() -> None:
    def made_here(folder: str, method: str = "scratch", seed: int = 0, **more: Any) -> Row:
        run = made_run(**{**more, "model": f"jackalope:{method}", "training_seed": seed})
        return {**run, "model": folder}

    def names(*runs: Row) -> list[str]:
        return [entry["model"] for entry in pool_runs(runs)]

    finetune = "finetune of jackalope:48066006"
    assert names(made_here("jackalope:/somewhere/models/tuned", finetune)) == ["tuned"]
    assert names(made_here("my model", finetune)) == ["my model"]  # --name
    turns = [
        made_here(f"jackalope:models/turn{i}", block=f"{i}", benchmark=f"{i}") for i in (9, 10, 11)
    ]
    assert names(*turns) == ["models/turn*"]
    assert names(*(made_here(f"jackalope:{i}-tuned", seed=i) for i in (0, 1))) == ["*-tuned"]
    two = [
        made_here(f"jackalope:{name}/tuned", treatment={"epochs": n})
        for name, n in (("a", 1), ("b", 2))
    ]
    assert names(*two) == ["tuned, epochs 1", "tuned, epochs 2"]


def test_rows_that_some_runs_lack_are_pooled_over_the_others() -> None:
    more = {"kind": "swap", "value": 0.2, "low": None, "high": None}
    (entry,) = pool_runs([trained(0.4, "a", 0, rows=(more,)), trained(0.6, "a", 1)])
    first, second = entry["rows"]
    assert (first["runs"], second["runs"], second["value"], second["low"]) == (2, 1, 0.2, None)


def test_unscored_rows_stay_without_a_value() -> None:
    (entry,) = pool_runs([trained(None, "a", 0), trained(None, "b", 0)])  # type: ignore[arg-type]
    assert (entry["rows"][0]["value"], entry["rows"][0]["blocks"]) == (None, 0)


def test_intervals_stay_within_what_can_be() -> None:
    (entry,) = pool_runs([trained(value, str(i), i) for i, value in enumerate((0.2, 0.99))])
    assert (entry["rows"][0]["low"], entry["rows"][0]["high"]) == (0, 1)


def test_one_training_says_what_its_interval_leaves_out() -> None:
    assert (
        "variation between trainings is not measured"
        in spread_notes(pool_runs([trained(0.5, "a", 0)]))[0]
    )
    assert spread_notes(pool_runs([made_run()])) == []
    assert spread_notes(pool_runs([trained(0.5, "a", 0), trained(0.6, "a", 1)])) == [
        "± is the standard deviation over the runs of one block."
    ]
