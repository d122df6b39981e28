"""Silence for libraries, and sound afterwards."""

import logging
import warnings

import pytest
import transformers

from evaluator.models.hub import quiet


def test_nothing_is_heard_inside_and_everything_after(caplog: pytest.LogCaptureFixture) -> None:
    bars = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.enable_progress_bar()
    with warnings.catch_warnings(record=True) as caught, quiet():
        warnings.simplefilter("always")
        logging.getLogger("library").error("inside")
        assert not transformers.utils.logging.is_progress_bar_enabled()
    logging.getLogger("library").error("after")
    assert [record.message for record in caplog.records] == ["after"]
    assert caught == []
    assert transformers.utils.logging.is_progress_bar_enabled()
    if not bars:
        transformers.utils.logging.disable_progress_bar()


def test_an_error_ends_the_silence() -> None:
    before = logging.root.manager.disable
    with pytest.raises(ValueError, match="inside"), quiet():
        raise ValueError("inside")
    assert logging.root.manager.disable == before
