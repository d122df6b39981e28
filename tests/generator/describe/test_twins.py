"""Texts of twins: both are asked in the same words, and the caption of each is the foil of the
other."""

from pathlib import Path

import pytest

from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe_world
from generator.describe.request import TextRequest
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from tests.generator.unrendered import write_planned

COUNTS = {"train": 40, "val": 2, "seen": 12, "partial": 12, "unseen": 12}


@pytest.mark.parametrize("template", [None, "a-and-a"])
def test_the_caption_of_each_twin_is_the_foil_of_the_other(
    tmp_path: Path, template: str | None
) -> None:
    prepared = prepare(
        WorldOptions(family="clevr", holdout="3x3", scenes=COUNTS, resolution="64x64")
    )
    write_planned(tmp_path, prepared)
    request = TextRequest(("binary",), {"binary": {"kinds": ("swap",)}}, template=template)
    describe_world(
        tmp_path,
        Dataset.open(tmp_path).world,
        holdout=prepared.holdout,
        name="swaps",
        request=request,
    )
    dataset = Dataset.open(tmp_path)
    texts_of: dict[str, dict[str, str]] = {}
    for row in dataset.benchmark("swaps").candidates.to_pylist():
        texts_of.setdefault(row["item_id"], {})[row["slot"]] = row["text_id"]
    twins = [row for row in dataset.world.scenes.to_pylist() if row["twin_of"]]
    assert len(twins) == 1 + 3 * 6  # half of the scenes of each split
    for row in twins:
        for order_of_mention in (0, 1):
            own = texts_of[f"binary-{row['scene_id']}-{order_of_mention}"]
            other = texts_of[f"binary-{row['twin_of']}-{order_of_mention}"]
            assert (own["c"], own["n"]) == (other["n"], other["c"])
