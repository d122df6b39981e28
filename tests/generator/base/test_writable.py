"""Outputs are checked before the work, and nothing is left behind."""

from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.base.files import check_output


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_text("image")
    return tmp_path


@pytest.mark.parametrize(
    "place", ["images/new/deep", "images", "images/a.png", "new", "images/a.png/below", "images/a.png/far/below"]
)
def test_an_output_is_checked_and_nothing_is_left(root: Path, place: str) -> None:
    before = sorted(root.rglob("*"))
    if "a.png/" in place:
        with pytest.raises(
            UserError, match=rf"no file can be made in {root}/images/a.png \(it is a file\); choose another place"
        ):
            check_output(root / place)
    else:
        check_output(root / place)
    assert sorted(root.rglob("*")) == before


@pytest.mark.parametrize("place", ["/proc/x", "/proc/x/y", "/sys/x"])
def test_a_place_where_nothing_can_be_made_is_told_with_the_mend(place: str) -> None:
    with pytest.raises(UserError, match=rf"^Cannot write {place}: no file can be made in /\w+ \(.+\); do that\.$"):
        check_output(Path(place), "do that")
