"""What a run says about the files that it scores, and the verdict that `--verify` asks for."""

from pathlib import Path
from typing import Any

import pytest

from evaluator.provenance.certificate import found_certificate, verified_now
from generator.base.errors import UserError
from generator.base.files import write_json
from generator.dataset.reader import Dataset
from tests.generator.designs import Design, make


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(Design(scenes=3), tmp_path_factory.mktemp("certificate") / "dataset")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "clean, by the certificate in the folder"),
        ({"status": "failed"}, "failed, by the certificate in the folder"),
        ({"status": "CERTIFIED"}, "not verified: the certificate in the folder has no known status"),
        ({"status": ["clean"]}, "not verified: the certificate in the folder has no known status"),
        ({"status": None}, "not verified: the certificate in the folder has no known status"),
        ({"world": None}, "not verified since it changed"),
        ({"benchmark": "0" * 64}, "not verified since it changed"),
    ],
)
def test_a_certificate_of_the_folder_is_quoted_as_such(made: Path, changed: dict[str, Any], said: str) -> None:
    dataset = Dataset.open(made)
    benchmark = dataset.benchmark()
    path = benchmark.folder / "verify.json"
    path.unlink(missing_ok=True)
    assert found_certificate(benchmark, dataset.world) == "not verified"
    write_json(path, {"status": "clean", "benchmark": benchmark.digest, "world": dataset.world.digest, **changed})
    assert found_certificate(benchmark, dataset.world) == said


def test_a_verdict_for_this_run_is_the_judges_own(made: Path) -> None:
    dataset = Dataset.open(made)
    benchmark = dataset.benchmark()
    write_json(benchmark.folder / "verify.json", {"status": "forged"})
    assert verified_now(benchmark, dataset.world) == "clean, verified for this run"
    readme = made / "README.md"
    text = readme.read_text(encoding="utf-8")
    readme.write_text(text.replace("Rendered scenes", "Photographs"), encoding="utf-8")
    with pytest.raises(UserError, match="1 x not reproduced"):
        verified_now(benchmark, dataset.world)
    readme.write_text(text, encoding="utf-8")


def test_a_dataset_that_cannot_be_judged_is_not_scored(made: Path) -> None:
    dataset = Dataset.open(made)
    benchmark, vocabulary = dataset.benchmark(), made / "world/vocabulary.toml"
    text = vocabulary.read_text(encoding="utf-8")
    vocabulary.write_text("category = [", encoding="utf-8")
    with pytest.raises(UserError, match="could not judge the benchmark"):
        verified_now(benchmark, dataset.world)
    vocabulary.write_text(text, encoding="utf-8")
