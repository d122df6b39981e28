"""Files that cannot be read are refused in one sentence."""

from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.judge.foreign.verify import verify_splits


@pytest.mark.parametrize(
    ("name", "text", "columns", "expected"),
    [
        ("a.csv", "animal,fold\nfox,train\n", ["split=fold"], "has no column 'label' or 'first'; name yours with --columns"),
        ("a.csv", "animal,fold\nfox,train\n", ["label=name"], "has no column 'name' for --columns label=name; its columns are: animal, fold"),
        ("a.csv", "animal,fold\nfox,train\n", ["first=animal,frist.color=fold"], "unknown role 'frist.color'"),
        ("a.csv", "animal,fold\nfox,train\n", ["label"], "Expected --columns to be ROLE=COLUMN"),
        ("a.csv", "animal,fold\nfox,train\n", ["first=animal,first=fold"], "names the role 'first' twice"),
        ("a.csv", "animal,fold\nfox,train\n", ["second=animal"], "names a second object and no first one"),
        ("a.csv", "animal,fold\nfox,train\n", ["second.color=animal,first=fold"], "no column names that object; add second=COLUMN"),
        ("a.csv", "label,split\nfox,train,3\n", [], "is not a CSV file in UTF-8"),
        ("a.json", "{", [], "is not JSON"),
        ("a.json", "[]", [], "holds no labels; expected a list of rows, or labels by split"),
        ("a.json", '{"train": [3]}', [], "expected every label to be a text such as"),
        ("a.json", '{"train": ["fox"]}', ["label=x"], "labels by split without any; leave it out"),
        ("a.json", '{"train": ["fox", {"label": "x"}]}', [], "expected every row to be an object with fields"),
        ("a.json", '[{"label": ["fox"]}]', [], "expected a text in the field 'label'"),
        ("b.csv", None, [], "b.csv cannot be read: "),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(
    tmp_path: Path, name: str, text: str | None, columns: list[str], expected: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        verify_splits(tmp_path / name, columns)
    assert expected in caught.value.message
    assert "\n" not in caught.value.message
