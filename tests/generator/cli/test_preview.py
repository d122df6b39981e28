"""`gen preview`: images of every split, or a grid of combinations."""

from pathlib import Path

from tests.conftest import run_command


def test_preview_shows_every_split(rendered: Path, tmp_path: Path) -> None:
    from PIL import Image

    done = run_command("gen", "preview", rendered, "--n", "3", "--out", tmp_path / "sheet.png")
    assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / "sheet.png") as sheet:
        full = sheet.size
    run_command("gen", "preview", rendered, "--n", "3", "--split", "unseen", "--out", tmp_path / "one.png")
    with Image.open(tmp_path / "one.png") as sheet:
        assert sheet.width == full[0]
        assert sheet.height < full[1] / 4
    wrong = run_command("gen", "preview", rendered, "--split", "sean", "--out", tmp_path / "x.png")
    assert wrong.returncode == 2
    assert "did you mean 'seen'?" in wrong.stderr
