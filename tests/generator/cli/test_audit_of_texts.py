"""gen describe lets the evaluator, as a process of its own, test whether texts alone reveal the
true captions."""

from pathlib import Path

import pytest

from evaluator.audits.floor import FEWEST_ITEMS
from generator.cli.describe import AUDITED, audit_texts
from generator.describe.request import TextRequest
from tests.generator.designs import BENCHMARK, Design, make


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    request = TextRequest(("binary",), strict=False)
    return make(
        Design(6, 6, "3x3", scenes=14, request=request),
        tmp_path_factory.mktemp("audited") / "dataset",
    )


def test_both_programs_count_alike() -> None:
    assert AUDITED == FEWEST_ITEMS


def test_few_items_start_no_process(dataset: Path) -> None:
    few = {"binary swap": AUDITED - 1, "train plain": 10 * AUDITED}
    assert audit_texts(dataset, BENCHMARK, few) == []
    assert not (dataset / "benchmarks" / BENCHMARK / "floor.json").exists()


def test_many_items_are_audited_in_a_process(dataset: Path) -> None:
    (line,) = audit_texts(dataset, BENCHMARK, {"binary swap": AUDITED})
    assert line == f"{BENCHMARK}: no kind is above chance, of 0 with at least {AUDITED} items"
    assert (dataset / "benchmarks" / BENCHMARK / "floor.json").exists()


def test_an_audit_that_fails_says_why(dataset: Path) -> None:
    (line,) = audit_texts(dataset, "elsewhere", {"binary swap": AUDITED})
    assert line.startswith("The texts were not audited (Error: ")
    assert f"score audit {dataset} --benchmark elsewhere --quick" in line
