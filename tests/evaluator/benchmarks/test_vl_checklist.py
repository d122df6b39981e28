"""VL-CheckList's files: capabilities and corpora from names and folders."""

import json
from collections import Counter
from pathlib import Path

import pytest

from evaluator.benchmarks.registry import read_texts
from evaluator.benchmarks.vl_checklist import read_vl_checklist
from generator.base.errors import UserError
from tests.evaluator.benchmarks.conftest import write_vl_checklist

ROW = ["1.jpg", {"POS": ["a"], "NEG": ["b"]}]


def test_capabilities_are_those_that_the_authors_chart(tmp_path: Path) -> None:
    asked = list(read_vl_checklist(write_vl_checklist(tmp_path) / "data"))
    assert Counter((each.kind, each.skill) for each in asked) == {
        ("Attribute color", "vg"): 4,
        ("Attribute color", "vaw"): 1,
        ("Object Size large", "swig/agent"): 2,
        ("Object Size large", "swig/item"): 1,
        ("Object Size large", "vg/subj"): 3,
    }


@pytest.mark.parametrize(
    ("path", "kind", "skill"),
    [
        ("data/Relation/swig_action.json", "Relation action", "swig"),
        ("data/Relation/vg/spatial.json", "Relation spatial", "vg"),
        ("data/Object/Location/hake_location/hake_obj_margin.json", "Object Location margin", "hake/obj"),
        ("data/Object/Location/swig_location/swig_tool/swig_tool_mid.json", "Object Location mid", "swig/tool"),
    ],
)
def test_published_names_are_understood(tmp_path: Path, path: str, kind: str, skill: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps([ROW]))
    (asked,) = read_vl_checklist(file)
    assert (asked.kind, asked.skill) == (kind, skill)
    assert asked.images[0].names == (f"{skill.split('/')[0]}/1.jpg", "1.jpg")


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
    file = tmp_path / "Attribute" / "vg" / "color.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps([ROW, row]))
    with pytest.raises(UserError, match=r'Expected \[image, \{"POS": \[texts\], "NEG": \[texts\]\}\] as row 1 of'):
        list(read_vl_checklist(tmp_path))


def test_files_without_rows_are_counted(tmp_path: Path) -> None:
    folder = write_vl_checklist(tmp_path)
    (folder / "data" / "Object" / "Size" / "swig_size" / "swig_place").mkdir()
    (folder / "data" / "Object" / "Size" / "swig_size" / "swig_place" / "swig_place_large.json").write_text("[]")
    questions, about = read_texts("vl_checklist", folder)
    assert (len(questions), about["excluded"]) == (11, {"a file without questions": 1})


def test_a_file_below_no_capability_is_refused(tmp_path: Path) -> None:
    (tmp_path / "color.json").write_text(json.dumps([ROW]))
    with pytest.raises(
        UserError, match=r"color\.json is no file of VL-CheckList: expected one below Attribute, Object or Relation"
    ):
        list(read_vl_checklist(tmp_path))
