"""What a run says about the files that it scores, and the verdict that `--verify` asks for."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from evaluator.provenance.certificate import verified_now
from generator.base.errors import UserError
from generator.base.files import read_json, write_json
from generator.dataset.certificate import describe_certificate
from generator.dataset.reader import Dataset
from generator.judge.verify import verify_dataset
from tests.generator.designs import Design, make


@pytest.fixture(scope="module")
def judged_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(Design(), tmp_path_factory.mktemp("certificate") / "dataset")


UNKNOWN = (
    "not verified: the certificate in the folder has no known status and level, or contradicts its "
    "faults"
)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {},
            "clean: the files were checked; the images were not (by the certificate in the folder)",
        ),
        (
            {"level": "all images"},
            "clean: the files were checked, and all images rendered again (by the certificate in "
            "the folder)",
        ),
        (
            {"status": "failed", "faults": {"leaked binding": 2, "\x1b[2J": 1}},
            "failed (\\x1b[2J, leaked binding): the files were checked; the images were not (by "
            "the certificate in the folder)",
        ),
        ({"status": "failed"}, UNKNOWN),
        ({"faults": {"leaked binding": 2}}, UNKNOWN),
        ({"faults": None}, UNKNOWN),
        ({"level": "every pixel"}, UNKNOWN),
        ({"level": ["records"]}, UNKNOWN),
        ({"status": "CERTIFIED"}, UNKNOWN),
        ({"status": ["clean"]}, UNKNOWN),
        ({"status": None}, UNKNOWN),
        ({"world": None}, "not verified since it changed"),
        ({"benchmark": "0" * 64}, "not verified since it changed"),
        ({"manifests": []}, "not verified since it changed"),
    ],
)
def test_a_certificate_of_the_folder_is_quoted_as_such(
    judged_folder: Path, changed: dict[str, Any], sentence: str
) -> None:
    dataset = Dataset.open(judged_folder)
    benchmark = dataset.benchmark()
    path = benchmark.folder / "verify.json"
    path.unlink(missing_ok=True)
    assert describe_certificate(benchmark, dataset.world) == "not verified"
    verify_dataset(judged_folder, None)
    write_json(path, {**read_json(path), **changed})
    assert describe_certificate(benchmark, dataset.world) == sentence


@pytest.mark.parametrize("part", ["world", "benchmark"])
def test_a_manifest_that_claims_something_else_is_not_the_one_that_was_judged(
    judged_folder: Path, tmp_path: Path, part: str
) -> None:
    root = Path(shutil.copytree(judged_folder, tmp_path / "dataset"))
    verify_dataset(root, None)
    dataset = Dataset.open(root)
    path = (dataset.world if part == "world" else dataset.benchmark()).path("manifest.json")
    write_json(path, {**read_json(path), "version": "9.9"})
    dataset = Dataset.open(root)
    assert (
        describe_certificate(dataset.benchmark(), dataset.world) == "not verified since it changed"
    )


@pytest.mark.full
def test_a_verdict_for_this_run_is_the_judges_own(judged_folder: Path) -> None:
    dataset = Dataset.open(judged_folder)
    benchmark = dataset.benchmark()
    write_json(benchmark.folder / "verify.json", {"status": "forged"})
    assert verified_now(benchmark, dataset.world) == "clean, verified for this run"
    readme = judged_folder / "README.md"
    text = readme.read_text(encoding="utf-8")
    readme.write_text(text.replace("Rendered scenes", "Photographs"), encoding="utf-8")
    with pytest.raises(UserError, match="1 x not reproduced"):
        verified_now(benchmark, dataset.world)
    readme.write_text(text, encoding="utf-8")


def test_a_dataset_that_cannot_be_judged_is_not_scored(judged_folder: Path) -> None:
    dataset = Dataset.open(judged_folder)
    benchmark, vocabulary = dataset.benchmark(), judged_folder / "world/vocabulary.toml"
    text = vocabulary.read_text(encoding="utf-8")
    vocabulary.write_text("category = [", encoding="utf-8")
    with pytest.raises(UserError, match="could not judge the benchmark"):
        verified_now(benchmark, dataset.world)
    vocabulary.write_text(text, encoding="utf-8")
