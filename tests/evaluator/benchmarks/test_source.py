"""What a run records of where its questions are from."""

from pathlib import Path

from evaluator.benchmarks.source import Source


def test_a_dataset_is_recorded_by_its_folder_and_a_benchmark_of_others_by_name_and_folders(tmp_path: Path) -> None:
    assert Source(tmp_path).record() == {"dataset": str(tmp_path), "external": None}
    images = tmp_path / "images"
    external = {"name": "aro", "path": str(tmp_path), "images": str(images), "filters": ["first=3"]}
    assert Source(tmp_path, "aro", images, ("first=3",)).record() == {"dataset": None, "external": external}
    assert (str(Source(tmp_path)), str(Source(tmp_path, "aro"))) == (str(tmp_path), f"aro:{tmp_path}")
