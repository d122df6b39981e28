"""Captions are grouped by level, and compared with the hardest of all their negatives, of whatever kind."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from evaluator.audits.levels import draw_levels
from generator.dataset.reader import Dataset
from tests.evaluator.audits.benchmarks import Entry, audited, write


def entry(number: int, level: str, negatives: int, **more: str) -> Entry:
    caption = f"{level} caption {'long ' * (number % 3)}{number}"
    texts = [("c", True, caption), *(("n", False, f"{caption} wrong {k}", caption) for k in range(negatives))]
    texts += [("d1", True, f"part {level} {number}"), ("d1", False, f"other part {level} {number}")]
    return {
        "texts": texts,
        "protocol": "integration",
        "kind": "composed",
        "level": level,
        "cluster": f"k{number}",
        **more,
    }


ENTRIES = [
    *(entry(i, "OA", 2) for i in range(6)),
    *(entry(i, "OAR", 4) for i in range(9)),
    entry(0, "L1", 1),
    entry(1, "OA", 3, protocol="train", split="train"),
]


def test_a_group_has_all_negatives_of_its_captions_and_no_decomposed_text(tmp_path: Path) -> None:
    benchmark = Dataset.open(write(tmp_path / "d", ENTRIES)).benchmark()
    oa, oar = draw_levels(benchmark, (), 5, 0)
    assert (oa.group, oa.available, len(oa.questions)) == (("integration", "composed", "", "OA"), 6, 5)
    assert (oar.group, oar.available, len(oar.questions)) == (("integration", "composed", "", "OAR"), 9, 5)
    assert {len(q.negatives) for q in oa.questions} == {2}
    assert {len(q.negatives) for q in oar.questions} == {4}
    assert not any("part" in text for q in (*oa.questions, *oar.questions) for text in q.texts)
    assert draw_levels(benchmark, (), 5, 0) == [oa, oar]


def test_the_effect_of_a_level_is_mann_whitneys_over_its_captions(tmp_path: Path) -> None:
    oa, oar = audited(tmp_path, ENTRIES)["levels"]
    assert (oa["level"], oa["skill"], oa["negatives_an_item"]) == ("OA", None, 2)
    assert (oar["level"], oar["items"], oar["sampled"], oar["clusters"]) == ("OAR", 9, 9, 9)
    benchmark = Dataset.open(tmp_path / "d").benchmark()
    for row, sample in zip((oa, oar), draw_levels(benchmark, (), 100, 0), strict=True):
        true = np.array([len(q.caption.split()) for q in sample.questions])
        u = mannwhitneyu(true, true + 2).statistic  # every negative has two words more
        assert row["length"]["words"]["r"] == pytest.approx(1 - 2 * u / len(true) ** 2)
        assert row["perplexity"]["pairs"] == len(true)
