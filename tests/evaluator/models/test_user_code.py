"""What a user's code raises becomes a sentence; memory errors and our own sentences are passed on."""

import json
import sys
from pathlib import Path

import pytest
import torch

from evaluator.models.user_code import user_code
from generator.base.errors import UserError


@pytest.mark.parametrize("error", [MemoryError(), torch.OutOfMemoryError("full"), KeyboardInterrupt()])
def test_lack_of_memory_and_a_stop_are_passed_on(error: BaseException) -> None:
    with pytest.raises(type(error)), user_code("python:m:M", "score"):
        raise error


def test_a_sentence_of_ours_is_passed_on() -> None:
    with pytest.raises(UserError, match=r"^Expected a\.$"), user_code("python:m:M", "score"):
        raise UserError("Expected a.")


def test_no_line_is_shown_where_none_is_the_users() -> None:
    with pytest.raises(UserError) as caught, user_code("python:m:M", "score"):
        json.loads("[")
    shown = caught.value.message.split("\n")
    assert shown[0].startswith("score of python:m:M ended with JSONDecodeError: Expecting value")
    assert [line for line in shown if "json/decoder" in line] == []


def test_an_error_in_a_module_that_the_users_own_one_imports_is_shown_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_outer.py").write_text("import own_inner\n")
    (tmp_path / "own_inner.py").write_text("x = (1,\ny = 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError) as caught, user_code("python:own_outer:M", "importing the module"):
        __import__("own_outer")
    assert 'own_inner.py", line 1' in caught.value.message
    assert "x = (1," in caught.value.message
    assert "own_outer" not in sys.modules
