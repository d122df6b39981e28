"""Leaks: training scenes and texts with held-out content are named."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from generator.base.files import read_json
from tests.generator.judge.datasets import Rows, add_text, edit, held_out, judged, said, scene_in


def test_a_leaked_scene(copied: Path, benchmark: Path) -> None:
    unseen = scene_in(benchmark, "unseen")
    edit(benchmark, "splits", lambda rows: [row.update(split="train") for row in rows if row["scene_id"] == unseen])
    certificate = judged(copied)
    assert certificate["status"] == "failed"
    assert f"training scene {unseen} shows the held-out" in said(certificate, "leaked binding")
    assert "shared group" in certificate["faults"]
    assert "wrong count" in certificate["faults"]


@pytest.mark.parametrize("truth", [True, False])
def test_a_leaked_text(copied: Path, benchmark: Path, truth: bool) -> None:
    value, thing = held_out(benchmark)
    texts = {row["text"]: row["text_id"] for row in pq.read_table(benchmark / "texts.parquet").to_pylist()}
    leak = next(text for text in texts if f"{value} {thing}" in text)

    def plant(rows: Rows) -> None:
        next(row for row in rows if row["item_id"].startswith("train-") and row["truth"] == truth)["text_id"] = texts[
            leak
        ]

    edit(benchmark, "candidates", plant)
    assert leak in said(judged(copied), "leaked binding")


@pytest.mark.parametrize(
    "template",
    [
        "There is no {value} {thing}.",
        "There is a {thing} that is not {value}.",
        "There is a {value} object that is not a {thing}.",
        "There is a {thing} and a sphere. The {thing} is {value}.",
        "It is not true that there is a {value} {thing}.",
        "two {value} {thing}s",
    ],
)
def test_a_leaked_text_of_any_template(copied: Path, benchmark: Path, template: str) -> None:
    value, thing = held_out(benchmark)
    if thing in ("sphere", "arch", "hourglass"):
        value, thing = next(pair for pair in read_json(benchmark / "holdout.json")["bindings"] if pair[1] not in
                            ("sphere", "arch", "hourglass"))  # fmt: skip
    text = template.format(value=value, thing=thing)
    text_id = add_text(benchmark, text)

    def plant(rows: Rows) -> None:
        next(row for row in rows if row["item_id"].startswith("train-") and not row["truth"]).update(text_id=text_id)

    edit(benchmark, "candidates", plant)
    assert f"training negative '{text}' of item" in said(judged(copied), "leaked binding")
