"""What is said of the splits must be so of the benchmark."""

from pathlib import Path
from typing import Any

import pytest

from evaluator.report.page import about_splits
from generator.dataset.reader import Benchmark
from generator.dataset.writer import WorldWriter, write_benchmark


def benchmark(root: Path, holdout: dict[str, Any] | None, **manifest: Any) -> Benchmark:
    with WorldWriter(
        root, {"family": "none", "width": 8, "height": 8, "scenes": {}, "seed": 0, "block_seed": 0}
    ) as writer:
        writer.finish("")
    return Benchmark(write_benchmark(root, "all", {}, holdout, manifest))


BLOCK = {"design": "bindsplit", "bindings": [["red", "cube"]], "triples": []}


def test_class_lists_are_not_called_symmetric(tmp_path: Path) -> None:
    sentences = " ".join(
        about_splits([benchmark(tmp_path, {"design": "gzsl"}, equal_familiarity=False)], True)
    )
    assert "equally familiar" not in sentences
    assert "seen, partial" not in sentences
    assert "wrong labels may be more familiar" in sentences


@pytest.mark.parametrize("equal", [True, False])
def test_a_block_is_symmetric_only_where_the_manifest_says_so(tmp_path: Path, equal: bool) -> None:
    sentences = " ".join(about_splits([benchmark(tmp_path, BLOCK, equal_familiarity=equal)], True))
    assert ("equally familiar" in sentences) is equal
    assert (
        "bindings of an attribute value and an object that no training image or text contains"
        in sentences
    )


def test_held_out_relations_are_named_and_what_training_showed_is_not_claimed(
    tmp_path: Path,
) -> None:
    related = benchmark(tmp_path, {**BLOCK, "bindings": [], "triples": [["cube", "on", "cone"]]})
    sentences = " ".join(about_splits([related, related], False))
    assert sentences.count("none, some, all") == 1
    assert "show relations between two objects that the train split holds out" in sentences


def test_scores_from_elsewhere_have_no_sentence(tmp_path: Path) -> None:
    assert about_splits([benchmark(tmp_path, None)], True) == []
