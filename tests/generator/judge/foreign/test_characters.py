"""Labels that look equal are compared as equal, or refused."""

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.base.errors import UserError
from generator.judge.foreign.characters import normal
from generator.judge.foreign.verify import verify_splits


def judged(path: Path, train: str, test: str) -> dict[str, Any]:
    path.write_text(json.dumps({"train": [train, "blue sphere"], "test": [test, "green cone"]}), encoding="utf-8")
    return verify_splits(path)[path.stem]


@pytest.mark.parametrize(
    ("label", "fault"),
    [
        ("red cube", "shared arrangement"),
        ("re\u200bd cube", "shared arrangement"),
        ("red\u00a0cube", "shared arrangement"),
        ("re\u00add cube", "shared arrangement"),
        ("re\ufe0fd cube", "shared arrangement"),
        ("\uff52\uff45\uff44 cube", "shared arrangement"),
        ("\U0001d42b\U0001d41e\U0001d41d cube", "shared arrangement"),
        ("red \u0441ube", "mixed scripts"),
        ("red cub\u03b5", "mixed scripts"),
        ("r\u0435d \u0441ub\u0435", "mixed scripts"),
        ("red \u0441\u0443\u044c\u0435", "mixed scripts"),
        ("\u027eed cube", "mixed scripts"),
        ("red\u2800cube", "invisible character"),
        ("red\u3164cube", "invisible character"),
    ],
)
def test_a_label_that_looks_like_one_of_training_is_found(tmp_path: Path, label: str, fault: str) -> None:
    found = judged(tmp_path / "labels.json", "red cube", label)
    assert found["status"] == "failed"
    assert fault in found["faults"]


def test_two_ways_to_write_one_letter_are_one(tmp_path: Path) -> None:
    found = judged(tmp_path / "labels.json", "beige caf\u00e9", "beige cafe\u0301")
    assert found["faults"] == {"shared arrangement": 1}


def test_labels_of_one_script_other_than_latin_are_clean(tmp_path: Path) -> None:
    assert judged(tmp_path / "labels.json", "red cube", "gr\u00fcner W\u00fcrfel")["status"] == "clean"
    path = tmp_path / "russian.json"
    labels = {
        "\u0430": ["\u043a\u0440\u0430\u0441\u043d\u044b\u0439 \u043a\u0443\u0431"],
        "\u0431": ["\u0441\u0438\u043d\u0438\u0439 \u043a\u0443\u0431"],
    }
    path.write_text(json.dumps(labels), encoding="utf-8")
    assert verify_splits(path)["russian"]["status"] == "clean"


def test_a_table_is_judged_by_its_labels_and_not_by_other_fields(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(
        "split,label,author\ntrain,red cube,\u0418\u0432\u0430\u043d\ntest,re\u200bd cube,Ann\n", encoding="utf-8"
    )
    assert verify_splits(path)["labels"]["faults"] == {"invisible character": 1, "shared arrangement": 1}
    rows = [
        {"split": "train", "label": "red cube", "author": "\u0418\u0432\u0430\u043d"},
        {"split": "test", "label": "blue cube", "author": "Ann"},
    ]
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    assert verify_splits(path)["rows"]["status"] == "clean"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "a.json",
            '{"train": ["red cube"], "test": ["blue cube"], "train": ["blue cube"]}',
            "the key 'train' is repeated",
        ),
        ("b.json", '[{"split": "train", "label": "red cube", "label": "blue cube"}]', "the key 'label' is repeated"),
        ("c.json", '{"train": ["red cube"], "tra\u200bin": ["blue cube"]}', "'train'"),
        ("d.csv", "split,label,label\ntrain,red cube,blue cube\n", "column 'label' twice"),
    ],
)
def test_what_two_readers_may_read_in_two_ways_is_refused(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=said):
        verify_splits(tmp_path / name)


@given(st.text())
def test_a_normal_text_stays_as_it_is(text: str) -> None:
    once = normal(text)
    assert normal(once) == once
    assert normal(unicodedata.normalize("NFD", text.translate({0x60: None, 0xB4: None}))) == normal(
        unicodedata.normalize("NFC", text.translate({0x60: None, 0xB4: None}))
    )
