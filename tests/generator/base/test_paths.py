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


@pytest.mark.parametrize(
    "name",
    ["../secret", "images/../../secret", "/etc/passwd", "", ".", "..", "images//a.png", "./images", "a\0b", "images/"],
)
def test_names_that_leave_the_folder_are_refused(root: Path, name: str) -> None:
    with pytest.raises(UserError, match="is no path within that folder"):
        file_in(root, name)


@pytest.mark.parametrize("name", [None, 3, ["images"], {"a": 1}])
def test_what_is_no_text_is_refused(root: Path, name: object) -> None:
    with pytest.raises(UserError, match="is no path within that folder"):
        file_in(root, name)


@given(st.one_of(st.text(), st.lists(PARTS, max_size=6).map("/".join)))
def test_a_name_is_refused_or_stays_inside(name: str) -> None:
    root = Path("/received/dataset")
    try:
        found = file_in(root, name)
    except UserError:
        return
    inside = os.path.normpath(found)
    assert inside == str(found)
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


def test_a_root_that_is_itself_behind_a_link_is_fine(root: Path) -> None:
    (root.parent / "alias").symlink_to(root)
    assert file_in(root.parent / "alias", "images/a.png").read_text() == "image"


def test_pipes_folders_and_files_in_place_of_one_another_are_refused(root: Path) -> None:
    os.mkfifo(root / "pipe")
    for name in ("pipe", "images"):
        with pytest.raises(UserError, match="is no regular file; remove it"):
            file_in(root, name)
    with pytest.raises(UserError, match="is no folder"):
        folder_in(root, "images/a.png")
    with pytest.raises(UserError, match="is no folder"):
        file_in(root, "images/a.png/b")


def test_a_device_is_no_regular_file() -> None:
    with pytest.raises(UserError, match="is no regular file"):
        file_in(Path("/dev"), "null")


def test_a_folder_of_files_and_folders_alone_passes(root: Path) -> None:
    check_own_files(root)
    check_own_files(root / "nowhere")


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("images"), lambda path: path.symlink_to("/")])
@pytest.mark.parametrize("place", ["x", "images/x", ".x"])
def test_a_link_or_a_pipe_anywhere_is_found(root: Path, make: object, place: str) -> None:
    make(root / place)  # type: ignore[operator]
    with pytest.raises(UserError, match=f"{place} is (a link|no regular file)"):
        check_own_files(root)


NAMES = ["../x", "a/b", "a b", "", ".", "..", "a\n", "é", "*", "a.b", "~"]


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("splits", "split"),
        ("splits", "scene_id"),
        ("items", "protocol"),
        ("items", "split"),
        ("items", "pool_id"),
        ("pools", "pool_id"),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_names_of_tables_are_plain(table: str, column: str, name: str) -> None:
    path = Path(f"{table}.parquet")
    named = ["000001", "17"] if column == "scene_id" else ["train", "id_val-2"]
    check_names(pa.table({column: [*named, None]}), path)
    plain = pa.array([*named, name])
    for column_type in (plain, plain.dictionary_encode()):
        with pytest.raises(UserError, match=rf"{table}\.parquet has the {column} "):
            check_names(pa.table({column: column_type}), path)
    with pytest.raises(UserError):
        check_names(pa.record_batch({column: plain}), path)


@pytest.mark.parametrize("name", [*NAMES, "s1", "١٢", "1e3", "-1"])
def test_scenes_of_a_world_are_named_by_digits(name: str) -> None:
    check_names(pa.table({"scene_id": ["000000", "1234567"]}), Path("scenes.parquet"))
    with pytest.raises(UserError, match="has the scene_id"):
        check_names(pa.table({"scene_id": ["000000", name]}), Path("scenes.parquet"))


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
