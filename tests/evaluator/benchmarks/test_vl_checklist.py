"""VL-CheckList's files: capabilities and corpora from names and folders."""

from pathlib import Path

import pytest

from evaluator.benchmarks.registry import read_texts
from evaluator.benchmarks.vl_checklist import read_vl_checklist
from generator.base.errors import UserError
from tests.evaluator.benchmarks.conftest import write_json, write_vl_checklist

ROW = ["1.jpg", {"POS": ["a"], "NEG": ["b"]}]


@pytest.mark.parametrize(
    ("path", "kind", "skill"),
    [
        ("data/Relation/swig_action.json", "Relation action", "swig"),
        ("data/Relation/vg/spatial.json", "Relation spatial", "vg"),
        (
            "data/Object/Location/hake_location/hake_obj_margin.json",
            "Object Location margin",
            "hake/obj",
        ),
        (
            "data/Object/Location/swig_location/swig_tool/swig_tool_mid.json",
            "Object Location mid",
            "swig/tool",
        ),
    ],
)
def test_published_names_are_understood(tmp_path: Path, path: str, kind: str, skill: str) -> None:
    write_json(tmp_path / path, [ROW])
    (question,) = read_vl_checklist(tmp_path / path)
    assert (question.labels.kind, question.labels.skill) == (kind, skill)
    assert question.images[0].names == (f"{skill.split('/')[0]}/1.jpg", "1.jpg")


@pytest.mark.parametrize(
    "row",
    [
        ["1.jpg"],
        {"POS": ["a"], "NEG": ["b"]},
        ["1.jpg", {"POS": [], "NEG": ["b"]}],
        ["1.jpg", {"POS": ["a"], "NEG": [3]}],
        "x",
    ],
)
def test_rows_of_another_form_are_refused(tmp_path: Path, row: object) -> None:
    write_json(tmp_path / "Attribute" / "vg" / "color.json", [ROW, row])
    with pytest.raises(
        UserError, match=r'Expected \[image, \{"POS": \[texts\], "NEG": \[texts\]\}\] as row 1 of'
    ):
        list(read_vl_checklist(tmp_path))


def test_files_without_rows_are_counted(tmp_path: Path) -> None:
    folder = write_vl_checklist(tmp_path)
    write_json(folder / "data/Object/Size/swig_size/swig_place/swig_place_large.json", [])
    questions, about = read_texts("vl_checklist", folder)
    assert (len(questions), about["excluded"]) == (11, {"a file without questions": 1})


def test_file_outside_the_capabilities_folders_is_refused(tmp_path: Path) -> None:
    write_json(tmp_path / "color.json", [ROW])
    with pytest.raises(
        UserError,
        match=r"color\.json is not a file of VL-CheckList: expected one below Attribute, Object or Relation",
    ):
        list(read_vl_checklist(tmp_path))
