"""Items as arrays: taking some, the best candidates, the order of splits."""

from dataclasses import replace

import numpy as np

from evaluator.protocols.items import Items, reported_splits, split_rank
from evaluator.protocols.measuring import MeasuringRules
from tests.evaluator.protocols.plain import make_items


def _items() -> Items:
    scores, truth = (
        [[0.1, 0.3, 0.2], [0.5, 0.4, 0.9]],
        np.array([[True, False, False], [True, False, True]]),
    )
    slots = [["c", "n", "n"], ["0", "1", "1"]]
    texts = [["t0", "t1", "t2"], ["t3", "t4", "t5"]]
    return replace(make_items(scores, slot=slots, text_id=texts), truth=truth, false=~truth)


def test_the_best_candidates_are_those_of_the_caption_and_of_the_first_image() -> None:
    best = _items().best_candidates()
    assert best["true_text"].tolist() == ["t0", "t3"]
    assert best["false_text"].tolist() == ["t1", "t4"]
    assert best["false"].round(1).tolist() == [np.float32(0.3).round(1), np.float32(0.4).round(1)]


def test_some_items_are_taken_whole() -> None:
    part = replace(_items(), rules=MeasuringRules(tolerance=0.1)).take(np.array([False, True]))
    assert (len(part), part.item_id.tolist(), part.scores.shape) == (1, ["i1"], (1, 3))
    assert part.scored.tolist() == [True]
    assert part.rules.tolerance == 0.1


def test_splits_are_sorted_by_familiarity_then_by_name() -> None:
    splits = ["zoo", "unseen", "val", "ant", "partial", "seen"]
    assert sorted(splits, key=split_rank) == ["val", "seen", "partial", "unseen", "ant", "zoo"]
    assert reported_splits([*splits, "seen"]) == ["seen", "partial", "unseen", "ant", "zoo"]
