"""The splits in which training shows what the true text names and not what its foil does, and the
reverse."""

from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.api import evaluate
from evaluator.papers.inputs import read_inputs
from evaluator.report.page import write_page
from evaluator.runs.folder import read_named
from generator.dataset.reader import Dataset
from generator.describe.benchmark import write_benchmarks
from generator.holdout.blocks import draw_block
from generator.holdout.membership import SplitPlan, arrangements, cluster_of, is_symmetric
from generator.judge.verify import verify_dataset
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from generator.vocabulary.schema import read_vocabulary
from tests.evaluator.papers.conftest import cell, tables_of
from tests.generator.unrendered import write_planned

VOCABULARY = read_vocabulary("clevr")
COUNTS = {"train": 900, "val": 5, "seen": 20, "partial": 20, "unseen": 20}
COUNTS |= {"asymmetric_seen": 20, "asymmetric_unseen": 20}


@pytest.mark.parametrize("seed", range(3))
def test_a_fifth_of_the_asymmetric_groups_is_kept_apart_whole(seed: int) -> None:
    """Of 405 groups, 810 arrangements each without and with a held-out binding; all other splits
    are as without."""
    plain, with_splits = (
        draw_block("3x3", VOCABULARY, seed),
        draw_block(["3x3", "asymmetric"], VOCABULARY, seed),
    )
    old, new = SplitPlan(VOCABULARY, plain), SplitPlan(VOCABULARY, with_splits)
    apart: dict[str, Counter[str | None]] = {}
    for arrangement in arrangements(VOCABULARY, "color"):
        before, after = old.place(arrangement), new.place(arrangement)
        if is_symmetric(arrangement, plain):
            assert before == after
        else:
            apart.setdefault(cluster_of(arrangement), Counter())[after.split] += 1
    kinds = Counter(frozenset(split_counts.items()) for split_counts in apart.values())
    split = frozenset({("asymmetric_seen", 2), ("asymmetric_unseen", 2)})
    assert kinds == {split: kinds[split], frozenset({("train", 2), (None, 2)}): 405 - kinds[split]}
    assert 55 < kinds[split] < 107  # 81, within 3 standard deviations


@pytest.mark.parametrize("objects", [(2, 2), (3, 5)])
def test_of_two_objects_that_exchange_their_values_one_text_names_what_is_held_out(
    objects: tuple[int, int],
) -> None:
    prepared = prepare(
        WorldOptions(
            family="clevr-many",
            holdout=["3x3", "asymmetric"],
            scenes=COUNTS,
            resolution="320x240",
            objects=objects,
        )
    )
    held_out, counts = {*prepared.holdout.bindings}, Counter()
    for planned in prepared.planned:
        if not str(planned.split).startswith("asymmetric"):
            continue
        arrangement = planned.arrangement("color")
        categories = Counter(category for _, category in arrangement)
        alone = [binding for binding in arrangement if categories[binding[1]] == 1]
        exchanged = [
            {(v, o), (w, p)}.isdisjoint(held_out) != {(w, o), (v, p)}.isdisjoint(held_out)
            for (v, o), (w, p) in combinations(alone, 2)
        ]
        assert any(exchanged)
        assert held_out.isdisjoint(arrangement) == (planned.split == "asymmetric_seen")
        counts[planned.split] += 1
    assert counts == {"asymmetric_seen": 20, "asymmetric_unseen": 20}


class Familiar:
    """Prefers texts whose bindings training shows, and looks at no image."""

    name = "familiar"

    def __init__(self, held_out: set[tuple[str, str]]):
        self._held_out = {f"{value} {category}" for value, category in held_out}

    def score_pairs(self, images: Any, pairs: Any) -> np.ndarray:
        return np.array(
            [-float(any(binding in text for binding in self._held_out)) for _, text in pairs]
        )


@pytest.mark.full
def test_a_model_that_prefers_the_familiar_pays_the_whole_tax(tmp_path: Path) -> None:
    prepared = prepare(
        WorldOptions(
            family="clevr", holdout=["3x3", "asymmetric"], scenes=COUNTS, resolution="64x48"
        )
    )
    write_planned(tmp_path, prepared)
    ((name, summary),) = write_benchmarks(
        tmp_path, Dataset.open(tmp_path).world, exposed_negatives=False
    ).items()
    assert name == "color-shape-3x3+asymmetric-b0"
    assert {split: summary.scenes[split] for split in COUNTS} == COUNTS
    certificate = verify_dataset(tmp_path, None)[name]
    assert certificate["findings"] == []
    assert "familiarity symmetric but in asymmetric splits" in certificate["sentence"]
    rows = evaluate(
        Familiar({*prepared.holdout.bindings}), tmp_path, protocols="binary", out=tmp_path / "run"
    ).results["rows"]
    rows_by_change = {(row["split"], row["minus"]): row for row in rows if row["kind"] == "swap"}
    assert rows_by_change["asymmetric_seen", None]["value"] == 1
    assert rows_by_change["asymmetric_unseen", None]["value"] == 0
    assert (
        rows_by_change["partial", None]["value"] == 0
    )  # both texts are as familiar, and a tie is never correct
    tax = rows_by_change["asymmetric_seen", "asymmetric_unseen"]
    assert tax["value"] == 1
    assert tax["low"] > 0.5
    table = tables_of("bindsplit2026", read_inputs([f"familiar={tmp_path / 'run'}"]))["1-tax"]
    assert cell(table, ["familiar"], "Tax").numbers["value"] == 1
    write_page([read_named(str(tmp_path / "run"))], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (
        "it is right in 100.0%; when training shows only what the foil names, in 0.0%: +100.0 "
        "points [+" in page
    )
