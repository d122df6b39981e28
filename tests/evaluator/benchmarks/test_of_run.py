"""The page of a run of a published benchmark shows its images, as long as they are there."""

from pathlib import Path

import pytest

from evaluator.report.gallery import pictures_of
from evaluator.runs.folder import open_run
from tests.evaluator.benchmarks.conftest import square, write_sugarcrepe
from tests.evaluator.conftest import score_command, succeed


def test_the_command_scores_and_the_page_shows_images_until_they_change(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = write_sugarcrepe(tmp_path / "files")
    images = (folder / "images").rename(tmp_path / "coco")
    (tmp_path / "model.py").write_text(
        "from tests.evaluator.benchmarks.conftest import Colors\n\ndef make():\n    return "
        "Colors()\n"
    )
    arguments = (
        "run",
        f"sugarcrepe:{folder}",
        "--model",
        f"python:{tmp_path / 'model.py'}:make",
        "--out",
        tmp_path / "run",
    )
    refused = score_command(*arguments)
    assert refused.exit_code == 2
    assert "give the folder of the images with --images" in refused.output
    succeed(*arguments, "--images", images)
    run = open_run(tmp_path / "run")
    assert pictures_of(run) is not None
    page = tmp_path / "page.html"
    succeed("report", tmp_path / "run", "--out", page)
    assert page.read_text().count("data:image/webp;base64") == 4
    square("gray").save(images / "000000000002.jpg")
    assert pictures_of(run) is None
    assert "they changed since the run" in caplog.text
    succeed("report", tmp_path / "run", "--out", page)
    assert "data:image/webp" not in page.read_text()


def test_a_dataset_of_ours_can_have_no_folder_of_images(drawn: Path) -> None:
    refused = score_command("run", drawn, "--model", "blind:length", "--images", drawn)
    assert refused.exit_code == 2
    assert "has its images in itself; leave --images out" in refused.output
