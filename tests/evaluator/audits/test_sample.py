"""Which questions are drawn of a benchmark."""

from pathlib import Path

import numpy as np
import pytest

from evaluator.audits.sample import Kind, draw_samples, stream
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, Dataset
from tests.evaluator.audits.benchmarks import pair, write


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    entries = [pair(f"a red cube {i}", f"a blue cube {i}", cluster=f"k{i}") for i in range(20)]
    entries += [pair("a", "b", protocol="other", kind="flip", skill="relation")]
    entries += [pair("c", "d", protocol="train", split="train")]
    return Dataset.open(write(tmp_path / "d", entries)).benchmark()


def test_questions_are_drawn_by_kind_and_training_is_left_out(benchmark: Benchmark) -> None:
    binary, other = draw_samples(benchmark, (), 5, 0)
    assert (str(binary.kind), binary.available, len(binary.questions)) == ("binary/swap", 20, 5)
    assert other.kind == Kind("other", "flip", "relation", None, "c")
    (question,) = other.questions
    assert (question.texts, question.negative, question.atoms) == (("a", "b"), "b", 4)
    assert all(q.caption.replace("red", "blue") == q.negative for q in binary.questions)


def test_training_items_are_drawn_where_they_are_asked_for_and_positives_by_their_kind(tmp_path: Path) -> None:
    texts = [("c", True, "a"), ("n", False, "b", "a", "swap")]
    texts += [("p", True, "c", "a", "replace"), ("p", True, "d", "a", "converse")]
    entries = [{"protocol": "train", "split": "train", "kind": "plain", "texts": texts}]
    entries += [pair("e", "f", split="train"), pair("g", "h")]
    root = write(tmp_path / "t", entries)
    benchmark = Dataset.open(root).benchmark()
    assert [str(sample.kind) for sample in draw_samples(benchmark, (), 5, 0)] == ["binary/swap"]
    samples = draw_samples(benchmark, ("train",), 5, 0)
    assert {str(sample.kind): sample.questions[0].texts for sample in samples} == {
        "train/plain/swap": ("a", "b"),
        "train/plain/swap/p-replace": ("c", "b"),
        "train/plain/swap/p-converse": ("d", "b"),
    }
    with pytest.raises(UserError, match="'skill'"):
        draw_samples(benchmark, ("skill",), 5, 0)


def test_the_draw_depends_on_the_seed_and_not_on_other_kinds(benchmark: Benchmark) -> None:
    first, again, other = (draw_samples(benchmark, ("binary",), 5, seed)[0].questions for seed in (0, 0, 1))
    assert first == again != other
    assert draw_samples(benchmark, (), 5, 0)[0].questions == first


def test_a_protocol_that_is_missing_is_refused(benchmark: Benchmark) -> None:
    with pytest.raises(UserError, match="has no items of the protocol 'othr'; did you mean 'other'"):
        draw_samples(benchmark, ("othr",), 5, 0)


def test_streams_are_equal_for_equal_names_alone() -> None:
    draws = [
        stream(seed, *names).random()
        for seed, names in ((0, ("a", None)), (0, ("a", None)), (0, ("a", "b")), (1, ("a", None)))
    ]
    assert draws[0] == draws[1]
    assert len(set(draws)) == 3
    assert isinstance(stream(0), np.random.Generator)
