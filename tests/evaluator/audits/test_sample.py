"""Which questions are drawn of a benchmark, by kind and by level."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from evaluator.audits.sample import Kind, draw_levels, draw_samples, every_question
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, Dataset
from tests.evaluator.audits.benchmarks import Entry, audited, pair, write


def opened(root: Path, *entries: Entry) -> Benchmark:
    return Dataset.open(write(root, entries)).benchmark()


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    entries = [pair(f"a red cube {i}", f"a blue cube {i}", cluster=f"k{i}") for i in range(20)]
    more = {"protocol": "retrieval", "texts": [("c", True, "a pool of texts stands against it")]}
    train = [pair("c", "d", protocol="train", split="train"), pair("e", "f", split="train")]
    return opened(
        tmp_path / "d",
        pair("a", "b", protocol="other", kind="flip", skill="relation"),
        *entries,
        *train,
        more,
    )


def test_questions_are_drawn_by_kind_and_training_is_left_out(benchmark: Benchmark) -> None:
    binary, other = draw_samples(benchmark, (), most_items=5, seed=0)
    assert (str(binary.kind), binary.available, len(binary.questions)) == ("binary/swap", 20, 5)
    assert other.kind == Kind("other", "flip", "relation")
    (question,) = other.questions
    assert (question.texts, question.negative, question.atoms) == (("a", "b"), "b", 4)
    assert all(q.caption.replace("red", "blue") == q.negative for q in binary.questions)
    assert all(q.cluster == f"k{q.caption.split()[-1]}" for q in binary.questions)
    with pytest.raises(
        UserError, match="has no items of the protocol 'othr'; did you mean 'other'"
    ):
        draw_samples(benchmark, ("othr",), most_items=5, seed=0)


def test_the_draw_depends_on_the_seed_and_not_on_other_kinds(benchmark: Benchmark) -> None:
    first, second, other = (
        draw_samples(benchmark, ("binary",), most_items=5, seed=seed)[0].questions
        for seed in (0, 0, 1)
    )
    assert first == second != other
    assert draw_samples(benchmark, (), most_items=5, seed=0)[0].questions == first


def test_training_items_are_drawn_where_they_are_asked_for_and_positives_by_their_kind(
    tmp_path: Path,
) -> None:
    texts = [("c", True, "a"), ("n", False, "b", "a", "swap")]
    texts += [("p", True, "c", "a", "replace"), ("p", True, "d", "a", "converse")]
    benchmark = opened(
        tmp_path / "t", {"protocol": "train", "split": "train", "kind": "plain", "texts": texts}
    )
    samples = draw_samples(benchmark, ("train",), most_items=5, seed=0)
    assert {str(sample.kind): sample.questions[0].texts for sample in samples} == {
        "train/plain/swap": ("a", "b"),
        "train/plain/swap/p-replace": ("c", "b"),
        "train/plain/swap/p-converse": ("d", "b"),
    }


CUBE = "a red cube"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (  # a hard positive has no negatives of its own
            [("c", True, CUBE), ("n", False, "a blue cube", CUBE), ("p", True, "a crimson cube")],
            {"c": {(CUBE, "a blue cube")}, "p": {("a crimson cube", "a blue cube")}},
        ),
        (  # decomposed captions are compared with those of their slot
            [
                *(
                    ("c", True, CUBE),
                    ("n", False, "a"),
                    ("n", False, "b"),
                    ("d1", True, "c"),
                    ("d1", False, "d"),
                ),
                *(("d2", True, "e"), ("d2", False, "f")),
            ],
            {"c": {(CUBE, "a", "b")}, "d": {("c", "d"), ("e", "f")}},
        ),
        (  # negatives stand against the text that they were made from
            [
                ("c", True, CUBE),
                ("n", False, "a blue cube", CUBE),
                ("c", True, "other"),
                ("n", False, "b", "other"),
            ],
            {"c": {(CUBE, "a blue cube"), ("other", "b")}},
        ),
        (  # captions of two images are asked apart
            [
                *(("0", True, "x", None, None, "i/0"), ("1", False, "y", None, None, "i/0")),
                *(("0", False, "x", None, None, "i/1"), ("1", True, "y", None, None, "i/1")),
            ],
            {"c": {("x", "y"), ("y", "x")}},
        ),
        (  # kinds of negatives are told apart
            [
                ("c", True, CUBE),
                ("n", False, "a", None, "atom"),
                ("n", False, "b"),
                ("n", False, "c", None, "swap"),
            ],
            {"atom": {(CUBE, "a")}, "c": {(CUBE, "b")}, "swap": {(CUBE, "c")}},
        ),
    ],
)
def test_texts_are_paired_as_their_protocol_compares_them(
    tmp_path: Path, texts: list[tuple[Any, ...]], expected: dict[str, set[tuple[str, ...]]]
) -> None:
    benchmark = opened(
        tmp_path / "d", *({"texts": texts, "kind": "k", "item_id": f"i{i}"} for i in range(20))
    )
    texts_of: dict[str, set[tuple[str, ...]]] = {}
    for sample in draw_samples(benchmark, (), most_items=100, seed=0):
        assert len(sample.questions) == sample.available == 20
        texts_of[sample.kind.negatives or sample.kind.role] = {
            question.texts for question in sample.questions
        }
    assert texts_of == expected
    every = {question.texts for question in every_question(benchmark, ())}
    assert every == {texts for role, some in expected.items() if role != "p" for texts in some}


def entry(number: int, level: str, negatives: int, **more: str) -> Entry:
    caption = f"{level} caption {'long ' * (number % 3)}{number}"
    texts = [
        ("c", True, caption),
        *(("n", False, f"{caption} wrong {k}", caption) for k in range(negatives)),
    ]
    texts += [("d1", True, f"part {level} {number}"), ("d1", False, f"other part {level} {number}")]
    of = {"protocol": "integration", "kind": "composed", "level": level, "cluster": f"k{number}"}
    return {"texts": texts, **of, **more}


ENTRIES = [
    *(entry(i, "OA", 2) for i in range(6)),
    *(entry(i, "OAR", 4) for i in range(9)),
    entry(0, "L1", 1),
    entry(1, "OA", 3, protocol="train", split="train"),
]


def test_a_group_has_all_negatives_of_its_captions_and_no_decomposed_text(tmp_path: Path) -> None:
    benchmark = Dataset.open(write(tmp_path / "d", ENTRIES)).benchmark()
    oa, oar = draw_levels(benchmark, (), most_items=5, seed=0)
    for sample, *expected in ((oa, "OA", 6, 2), (oar, "OAR", 9, 4)):
        (negatives,) = {len(q.negatives) for q in sample.questions}
        assert [sample.level, sample.available, negatives] == expected
        assert (sample.kind, len(sample.questions)) == (Kind("integration", "composed"), 5)
        assert not any("part" in text for q in sample.questions for text in q.texts)
    assert draw_levels(benchmark, (), most_items=5, seed=0) == [oa, oar]


def test_the_effect_of_a_level_is_mann_whitneys_over_its_captions(tmp_path: Path) -> None:
    oa, oar = audited(tmp_path, ENTRIES)["levels"]
    assert (oa["level"], oa["skill"], oa["negatives_an_item"]) == ("OA", None, 2)
    assert (oar["level"], oar["items"], oar["sampled"], oar["clusters"]) == ("OAR", 9, 9, 9)
    benchmark = Dataset.open(tmp_path / "d").benchmark()
    for row, sample in zip(
        (oa, oar), draw_levels(benchmark, (), most_items=100, seed=0), strict=True
    ):
        true = np.array([len(q.caption.split()) for q in sample.questions])
        u = mannwhitneyu(true, true + 2).statistic  # every negative has two words more
        assert row["length"]["words"]["r"] == pytest.approx(1 - 2 * u / len(true) ** 2)
        assert row["perplexity"]["pairs"] == len(true)
