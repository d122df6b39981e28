"""Benchmarks of named combinations: the judge proves them from holdout.json, and finds what
leaks."""

from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from generator.describe.benchmark import write_benchmarks
from generator.judge.verify import verify_dataset
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from tests.generator.judge.datasets import Rows, edit
from tests.generator.unrendered import write_planned

SINGLE = {"train": 90, "val": 2, "seen": 6, "asymmetric_seen": 6, "asymmetric_unseen": 6}
RELATED = {"train": 90, "val": 2, "seen": 6, "unseen": 6}
BLOCK = {"train": 90, "val": 2, "seen": 6, "partial": 6, "unseen": 6}


@pytest.mark.parametrize(
    ("specs", "counts", "family"),
    [
        (["gray:cube"], SINGLE, "clevr"),
        (["left: cube, sphere"], RELATED, "clevr"),
        (["color=gray,blue shape=cube,cylinder"], BLOCK, "clevr"),
        (["gray:cube", "blue:cube"], {**SINGLE, "partial": 6}, "clevr"),
    ],
)
def test_the_judge_proves_what_was_named(
    specs: list[str], counts: dict[str, int], family: str, tmp_path: Path
) -> None:
    prepared = prepare(
        WorldOptions(family=family, holdout=specs, scenes=counts, resolution="64x48")
    )
    write_planned(tmp_path, prepared)
    ((name, summary),) = write_benchmarks(
        tmp_path, Dataset.open(tmp_path).world, exposed_negatives=False
    ).items()
    assert {split: n for split, n in summary.scenes.items() if n} == counts
    certificate = verify_dataset(tmp_path, None)[name]
    assert certificate["findings"] == []


def test_a_named_binding_that_training_shows_is_a_leak(tmp_path: Path) -> None:
    prepared = prepare(
        WorldOptions(family="clevr", holdout=["gray:cube"], scenes=SINGLE, resolution="64x48")
    )
    write_planned(tmp_path, prepared)
    (name,) = write_benchmarks(tmp_path, Dataset.open(tmp_path).world, exposed_negatives=False)

    def train_on_what_is_held_out(rows: Rows) -> None:
        for row in rows:
            if row["split"] == "asymmetric_unseen":
                row["split"] = "train"

    edit(tmp_path / "benchmarks" / name, "splits", train_on_what_is_held_out)
    findings = verify_dataset(tmp_path, None)[name]["findings"]
    assert any(
        finding["fault"] == "leaked binding" and "gray cube" in str(finding) for finding in findings
    ), findings[:3]


def test_a_split_that_balance_leaves_empty_is_refused_by_name() -> None:
    with pytest.raises(
        UserError, match="with splits train, val, seen, asymmetric_seen, asymmetric_unseen"
    ):
        prepare(
            WorldOptions(
                family="clevr", holdout=["gray:cube"], scenes="unseen=5", resolution="64x48"
            )
        )
