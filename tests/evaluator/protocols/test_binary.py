"""Counterparts of `binary`: which items are paired, what matching makes of them, and where it is
the main metric."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.analysis.answers import read_answers
from evaluator.protocols.binary import find_counterparts
from evaluator.runs.folder import open_run
from evaluator.runs.measure import measure, measure_protocols, write_items
from tests.evaluator.protocols.conftest import run_of
from tests.evaluator.protocols.plain import make_items, wins
from tests.evaluator.synthetic import Builder, Row, find


def items_of(texts: list[tuple[str, str]], scenes: list[str] | None = None, **columns: Any) -> Any:
    """Items that each have a true and a false text."""
    named = {} if scenes is None else {"scene_id": scenes}
    return make_items([[0, 0]] * len(texts), text_id=texts, **named, **columns)


def test_an_item_is_paired_with_the_item_of_the_exchanged_texts() -> None:
    items = items_of([("a", "b"), ("c", "d"), ("b", "a"), ("a", "c")])
    assert find_counterparts(items, {}).tolist() == [[0, 2]]


def test_a_twin_comes_before_other_counterparts() -> None:
    items = items_of([("a", "b"), ("b", "a"), ("b", "a"), ("a", "b")], ["s0", "s1", "s2", "s3"])
    assert find_counterparts(items, {}).tolist() == [[0, 1], [2, 3]]
    assert find_counterparts(items, {"s0": "s2", "s2": "s0"}).tolist() == [[0, 2], [1, 3]]


@pytest.mark.parametrize("column", ["split", "kind"])
def test_items_of_different_splits_or_kinds_are_never_paired(column: str) -> None:
    items = items_of([("a", "b"), ("b", "a")], **{column: ["seen", "unseen"]})
    assert len(find_counterparts(items, {})) == 0


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("abc")).filter(
            lambda two: two[0] != two[1]
        )
    )
)
def test_pairs_are_disjoint_exchanged_and_as_many_as_possible(texts: list[tuple[str, str]]) -> None:
    texts = texts or [("a", "b")]
    pairs = find_counterparts(items_of(texts), {})
    assert len(set(pairs.ravel().tolist())) == pairs.size
    for first, second in pairs.tolist():
        assert first < second
        assert texts[first] == texts[second][::-1]
    expected = sum(min(texts.count((a, b)), texts.count((b, a))) for a, b in ("ab", "ac", "bc"))
    assert len(pairs) == expected


def add_counterparts(builder: Builder, split: str, texts: tuple[str, str]) -> list[str]:
    """Two items of two scenes with the same two texts; returns their names."""
    names = []
    for own, other in (texts, texts[::-1]):
        name = builder.add("binary", "swap", [])
        builder.items[-1]["split"] = split
        scene = f"s{len(builder.items) % builder.scenes:04d}"
        builder.candidates += [
            {
                "item_id": name,
                "scene_id": scene,
                "text_id": text,
                "slot": slot,
                "truth": truth,
                "changed": [],
            }
            for text, slot, truth in ((own, "c", True), (other, "n", False))
        ]
        names.append(name)
    return names


def paired_run(tmp_path: Path, scores: np.ndarray, alone: int = 0) -> Path:
    """A run of pairs of items in seen and unseen, then of items without a counterpart; scores
    (pairs, 2, 2)."""
    builder = Builder(0, 200)
    for i in range(len(scores)):
        texts = (f"own{i}", f"other{i}")
        counts = {"level": "OA", "n_objects": 2, "n_attributes": 2, "n_relations": 0}
        builder.texts += [{"text_id": text, "text": text, **counts} for text in texts]
        add_counterparts(builder, ("seen", "unseen")[i % 2], texts)
    for _ in range(alone):
        builder.add("binary", "swap", [("c", True, None), ("n", False, None)])
        builder.items[-1]["split"] = "seen"
    # The candidates of a pair: image 0 with its text and the other, image 1 with its text and the
    # other.
    ordered = scores[:, [0, 0, 1, 1], [0, 1, 1, 0]].ravel()
    return run_of(
        builder, tmp_path, lambda n: np.concatenate([ordered, np.zeros(n - len(ordered))])
    )


def shares(results: Row, metric: str) -> dict[str, float]:
    return {
        split: find(results, "binary", split, metric=metric)["value"]
        for split in ("seen", "unseen")
    }


def test_matching_is_the_main_metric_of_items_that_have_counterparts(tmp_path: Path) -> None:
    scores = np.random.default_rng(0).normal(size=(60, 2, 2)) + 0.5 * np.eye(2)
    folder = paired_run(tmp_path, scores)
    results = measure(folder)
    right = [
        wins(t[0][0] + t[1][1], t[0][1] + t[1][0])
        for t in scores.astype(np.float32).astype(float).tolist()
    ]
    assert shares(results, "matching") == pytest.approx(
        {"seen": np.mean(right[::2]), "unseen": np.mean(right[1::2])}
    )
    row = find(results, "binary", "unseen", metric="matching")
    assert (row["items"], row["chance"], row["is_main"]) == (30, 0.5, True)
    assert not find(results, "binary", "unseen")["is_main"]
    assert find(results, "binary", "unseen")["items"] == 60
    assert find(results, "binary", "seen - unseen", metric="matching")["is_main"]
    # A comparison takes the main metric; its items are the pairs.
    (answers,) = read_answers(str(folder))
    assert set(answers.labels["metric"]) == {"matching"}
    assert np.sort(answers.correct).tolist() == np.sort(right).tolist()
    (every,) = read_answers(str(folder), "accuracy")
    assert len(every.correct) == 120
    # The list of items keeps the answer to each item.
    assert '"metric": "accuracy"' in write_items(folder).read_text()


def test_accuracy_stays_the_main_metric_where_a_split_lacks_counterparts(tmp_path: Path) -> None:
    results = measure(paired_run(tmp_path, np.zeros((60, 2, 2)), alone=60))
    assert find(results, "binary", "seen")["is_main"]
    assert not find(results, "binary", "seen", metric="matching")["is_main"]


def test_a_model_that_reads_the_texts_alone_ties_on_every_pair_and_a_preference_cancels(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(1)
    of_text = rng.normal(size=(60, 1, 2))
    blind = measure(paired_run(tmp_path / "blind", np.broadcast_to(of_text, (60, 2, 2))))
    row = find(blind, "binary", "seen", metric="matching")
    assert (row["value"], row["ties"]) == (0, row["items"])
    assert find(blind, "binary", "seen")["value"] == 0.5  # it is right of one image of each pair
    skill = 0.1 * np.eye(2) + rng.normal(0, 0.02, (60, 2, 2))
    preferring = measure(paired_run(tmp_path / "preferring", skill + of_text))
    assert shares(preferring, "matching") == {"seen": 1, "unseen": 1}
    assert shares(preferring, "accuracy")["seen"] < 0.7


def test_a_pair_is_unscored_if_one_of_its_items_is(tmp_path: Path) -> None:
    builder = Builder(0, 10)
    counts = {"level": "OA", "n_objects": 2, "n_attributes": 2, "n_relations": 0}
    for i in range(4):
        texts = (f"own{i}", f"other{i}")
        builder.texts += [{"text_id": text, "text": text, **counts} for text in texts]
        add_counterparts(builder, "seen", texts)
    folder = run_of(builder, tmp_path, broken=[2])
    row = find(measure(folder), "binary", "seen", metric="matching")
    assert (row["items"], row["unscored"]) == (3, 1)
    results = measure_protocols(open_run(folder))["binary"]
    assert np.isfinite(results.outcomes[1].value).sum() == 3
