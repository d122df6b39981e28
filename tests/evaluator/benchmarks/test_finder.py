"""Where images are found."""

from pathlib import Path

import pytest

from evaluator.benchmarks.asked import Shown
from evaluator.benchmarks.finder import Finder
from evaluator.benchmarks.pictures import FileBytes
from generator.base.errors import UserError


def _touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def _found(finder: Finder, *names: str) -> Path | None:
    picture = finder.find(Shown(names))
    if picture is None:
        return None
    assert isinstance(picture.source, FileBytes)
    return picture.source.path


def test_images_are_given_or_beside_the_questions(tmp_path: Path) -> None:
    assert Finder(tmp_path / "a.json", None).folder == tmp_path
    (tmp_path / "images").mkdir()
    assert Finder(tmp_path / "a.json", None).folder == Finder(tmp_path, None).folder == tmp_path / "images"
    assert Finder(tmp_path, tmp_path / "other").folder == tmp_path / "other"


def test_a_name_is_looked_for_as_it_stands_then_without_its_folders(tmp_path: Path) -> None:
    finder = Finder(tmp_path, tmp_path)
    whole, part, last = (_touch(tmp_path / name) for name in ("data/VG/1.jpg", "VG/1.jpg", "1.jpg"))
    for expected in (whole, part, last):
        assert _found(finder, "data/VG/1.jpg") == expected
        expected.unlink()
    assert _found(finder, "data/VG/1.jpg") is None
    png = _touch(tmp_path / "ex_0.png")
    assert _found(finder, "x/none.jpg", "ex_0") == png
    with pytest.raises(UserError, match="is no path within that folder"):
        finder.find(Shown(("../1.jpg",)))


def test_the_images_of_a_folder_come_by_name(tmp_path: Path) -> None:
    for name in ("red cube/2.png", "red cube/1.jpg", "red cube/notes.txt", "red cube/.3.png"):
        _touch(tmp_path / name)
    finder = Finder(tmp_path, tmp_path)
    assert finder.images_in(["gone", "red cube"]) == ["red cube/1.jpg", "red cube/2.png"]
    assert finder.images_in(["gone"]) == []
