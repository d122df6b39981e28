"""Measuring the scores of a run: results.json, the CSV tables, and the protocols that this version
does not know."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from evaluator.runs.measure import measure
from generator.base.files import read_json, write_json
from generator.base.tables import read_table, write_table
from generator.dataset.records import SCORES
from tests.evaluator.conftest import assert_one_sentence, score_command
from tests.evaluator.protocols.conftest import CAPTION_AND_FOIL, run_of
from tests.evaluator.synthetic import Builder, add_pair, find, one_of_each, planted, write_run


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return one_of_each(Builder(0, 240), 60).write(tmp_path_factory.mktemp("all") / "dataset")


@pytest.fixture(scope="module")
def folder(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(1)
    return write_run(
        root, tmp_path_factory.mktemp("runs") / "run", lambda n: planted(rng, n), broken=[3, 50]
    )


def test_a_model_that_gives_every_text_the_same_score_ties_on_everything(
    root: Path, tmp_path: Path
) -> None:
    results = measure(write_run(root, tmp_path / "run", lambda n: np.full(n, 0.25)))
    for row in results["rows"]:
        if row["unit"] == "share" and row["average"].startswith("micro"):
            assert row["value"] == (row["error"] == "tie")
            assert row["ties"] == (row["items"] if row["error"] in (None, "tie") else 0)
        if row["unit"] == "difference":
            assert row["value"] == 0
            assert row["low"] < 0 < row["high"]  # that two splits agree exactly is no certainty
    assert {fit["reason"] for fit in results["fits"]} == {"all outcomes are equal"}


@pytest.mark.full
def test_channels_are_measured_apart_and_unknown_ones_refused(folder: Path) -> None:
    record = read_json(folder / "run.json")
    write_json(folder / "run.json", {**record, "channels": ["cosine", "itm"], "channel": "cosine"})
    by_name = measure(folder, channel="cosine")
    assert by_name["channel"] == measure(folder)["channel"] == "cosine"
    other = measure(folder, channel="itm")
    assert (other["channel"], {row["items"] for row in other["rows"]}) == ("itm", {0})
    assert_one_sentence(
        score_command("measure", folder, "--channel", "itn"),
        "The run has no channel 'itn': did you mean 'itm'?",
    )
    write_json(folder / "run.json", record)


def test_images_are_compared_by_the_channel_for_that(tmp_path: Path) -> None:
    """Of two channels the second ranks the images; texts are ranked by the first, and by an
    explicit choice all is."""
    builder = Builder()
    for _ in range(24):
        add_pair(builder)
        builder.add("binary", "swap", CAPTION_AND_FOIL)
    folder = run_of(builder, tmp_path, np.zeros)
    first = read_table(folder / "scores.parquet", SCORES)
    right = pa.array([float(row["truth"]) for row in builder.candidates], pa.float32())
    second = first.set_column(2, "channel", pa.array(["itc"] * len(right))).set_column(
        3, "score", right
    )
    write_table(folder / "scores.parquet", pa.concat_tables([first, second]), SCORES)
    channels = {"channels": ["cosine", "itc"], "channel": "cosine", "image_channel": "itc"}
    write_json(folder / "run.json", read_json(folder / "run.json") | channels)
    for channel, between_images, image in ((None, "itc", 1.0), ("cosine", "cosine", 0.0)):
        results = measure(folder, channel=channel)
        assert (results["channel"], results["image_channel"]) == ("cosine", between_images)
        assert find(results, "binary", "seen")["value"] == 0
        assert find(results, "pairs", "seen", metric="image", kind="swap")["value"] == image


@pytest.mark.full
def test_all_intervals_have_the_level_that_is_asked_for(folder: Path) -> None:
    import pandas as pd

    usual, narrow = measure(folder), measure(folder, level=0.8)
    assert (usual["rules"]["level"], narrow["rules"]["level"]) == (0.95, 0.8)
    compared = 0
    for part in ("rows", "cells"):
        for wide, row in zip(usual[part], narrow[part], strict=True):
            assert (row["value"], row["items"], row["sd"]) == (
                wide["value"],
                wide["items"],
                wide["sd"],
            )
            for low, high in (("low", "high"), ("low_fixed", "high_fixed")):
                if row[low] is not None and (row[low], row[high]) not in (
                    (0, 1),
                    (-1, 1),
                ):  # all that is possible
                    assert row[high] - row[low] < wide[high] - wide[low], row
                    compared += 1
            if row["p"] is not None and row["unit"] == "share":
                assert row["p"] == wide["p"]
    assert compared > 1000
    for wide, fit in zip(usual["fits"], narrow["fits"], strict=True):
        for count, beta in fit["coefficients"].items():
            ratio = stats.t.ppf(0.9, fit["df"]) / stats.t.ppf(0.975, fit["df"])
            other = wide["coefficients"][count]
            assert beta["high"] - beta["low"] == pytest.approx(
                ratio * (other["high"] - other["low"]), abs=1e-3
            )
            assert beta["p"] == other["p"]
    assert set(pd.read_csv(folder / "tables" / "summary.csv")["confidence"]) == {0.8}


def test_unknown_protocols_are_named(tmp_path: Path) -> None:
    builder = Builder(0, 4)
    for protocol in ("binary", "unheard-of", "unheard-of", "train"):
        builder.add(protocol, "swap", CAPTION_AND_FOIL)
    folder = run_of(builder, tmp_path)
    assert measure(folder)["unknown_protocols"] == {"unheard-of": 2}
    done = score_command("measure", folder)
    assert (
        "Not measured: 2 items of the protocol 'unheard-of', which this version does not know."
        in done.stdout
    )


def test_a_benchmark_of_unknown_protocols_alone_is_one_sentence(tmp_path: Path) -> None:
    builder = Builder(0, 1)
    builder.add("unheard-of", "swap", CAPTION_AND_FOIL)
    root = builder.write(tmp_path / "dataset")
    done = score_command("run", root, "--model", "open_clip:tiny", "--out", tmp_path / "run")
    assert_one_sentence(done, "has no items to measure (other protocols it has: 'unheard-of')")
