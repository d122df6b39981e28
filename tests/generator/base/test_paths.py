"""Paths and names that stand in files: whatever they say, nothing outside the folder is reached."""

import os
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.base.errors import UserError
from generator.base.paths import (
    check_benchmark_name,
    check_name,
    check_names,
    check_own_files,
    file_in,
    folder_in,
)

PARTS = st.sampled_from(["..", ".", "", "a", "b.png", "images", "~", "\0", "\n", "-", "é", "..."])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "images").mkdir(parents=True)
    (tmp_path / "root" / "images" / "a.png").write_text("image")
    (tmp_path / "secret").write_text("secret")
    return tmp_path / "root"


def test_files_of_the_folder_are_found_and_missing_ones_have_a_place(root: Path) -> None:
    assert file_in(root, "images/a.png") == root / "images" / "a.png"
    assert file_in(root, "masks/a.png") == root / "masks" / "a.png"
    assert folder_in(root, "images") == root / "images"


@pytest.mark.parametrize("name", ["../secret", "a\0b", None, 3, ["a"]])
def test_names_that_leave_the_folder_and_what_is_no_text_are_refused(
    root: Path, name: object
) -> None:
    with pytest.raises(UserError, match="is not a path within that folder"):
        file_in(root, name)


@given(st.one_of(st.text(), st.lists(PARTS, max_size=6).map("/".join)))
def test_a_name_is_refused_or_stays_inside(name: str) -> None:
    root = Path("/received/dataset")
    try:
        path = file_in(root, name)
    except UserError:
        return
    inside = os.path.normpath(path)
    assert inside == str(path)
    assert inside.startswith("/received/dataset/")


def test_links_are_not_followed_wherever_they_lead(root: Path) -> None:
    (root / "images" / "out.png").symlink_to(root.parent / "secret")
    (root / "images" / "in.png").symlink_to("a.png")
    (root / "images" / "dangling.png").symlink_to("nowhere")
    (root / "away").symlink_to(root.parent)
    for name in ("images/out.png", "images/in.png", "images/dangling.png", "away/secret", "away"):
        with pytest.raises(UserError, match="is a link, and links are not followed"):
            file_in(root, name)
    with pytest.raises(UserError, match="is a link"):
        folder_in(root, "away")
    assert (
        file_in(root / "away" / "root", "images/a.png").read_text() == "image"
    )  # a root may lie behind a link


def test_pipes_folders_and_files_in_place_of_one_another_are_refused(root: Path) -> None:
    os.mkfifo(root / "pipe")
    for name in ("pipe", "images"):
        with pytest.raises(UserError, match="is not a regular file; remove it"):
            file_in(root, name)
    with pytest.raises(UserError, match="is not a folder"):
        folder_in(root, "images/a.png")
    with pytest.raises(UserError, match="is not a folder"):
        file_in(root, "images/a.png/b")
    with pytest.raises(UserError, match="is not a regular file"):
        file_in(Path("/dev"), "null")


def test_a_folder_of_files_and_folders_alone_passes(root: Path) -> None:
    check_own_files(root)
    check_own_files(root / "nowhere")


@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda path: path.symlink_to("images"), lambda path: path.symlink_to("/")]
)
@pytest.mark.parametrize("place", ["x", "images/x", ".x"])
def test_a_link_or_a_pipe_anywhere_is_found(root: Path, make: object, place: str) -> None:
    make(root / place)  # type: ignore[operator]
    with pytest.raises(UserError, match=f"{place} is (a link|not a regular file)"):
        check_own_files(root)


NAMES = ["../x", "a/b", "a b", "", ".", "..", "a\n", "é", "*", "a.b", "~", "١٢"]


@pytest.mark.parametrize(
    ("table", "column", "plain", "wrong"),
    [
        ("splits", "split", "id_val-2", NAMES),
        ("items", "protocol", "train", NAMES),
        ("items", "pool_id", "p", NAMES),
        ("pools", "pool_id", "p", NAMES),
        ("scenes", "scene_id", "1234567", [*NAMES, "s1", "1e3", "-1"]),
    ],
)
def test_names_of_tables_are_plain_and_scenes_are_named_by_digits(
    table: str, column: str, plain: str, wrong: list[str]
) -> None:
    path = Path(f"{table}.parquet")
    check_names(pa.table({column: [plain, None]}), path)
    for names in (pa.array([plain, name]) for name in wrong):
        for variant in (
            pa.table({column: names}),
            pa.table({column: names.dictionary_encode()}),
            pa.record_batch({column: names}),
        ):
            with pytest.raises(UserError, match=rf"{table}\.parquet has the {column} "):
                check_names(variant, path)


@given(st.text())
def test_plain_names_and_names_of_benchmarks_are_single_parts_of_a_path(name: str) -> None:
    for check in (lambda: check_name(name, "channel"), lambda: check_benchmark_name(name)):
        try:
            check()
        except UserError:
            continue
        assert Path(name).name == name
        assert name.isascii()
        assert name.isprintable()
        assert not name.startswith(".")


def test_the_names_that_the_generator_gives_pass() -> None:
    for name in ("color-shape-3x3-b0", "color-shape-3x3-b0-texts", "size.2", "k1.00-n4"):
        assert check_benchmark_name(name) == name
    for name in ("cosine", "itm", "grid"):
        assert check_name(name, "channel") == name
