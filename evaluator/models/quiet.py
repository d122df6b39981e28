"""Silence for model libraries while they load or tokenize: their errors are told in one sentence instead."""

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_WITH_BARS = ("transformers.utils.logging", "diffusers.utils.logging")


@contextmanager
def quiet() -> Iterator[None]:
    """Inside, nothing is logged or warned about, and transformers and diffusers show no progress bars."""
    disabled = logging.root.manager.disable
    libraries = [sys.modules[name] for name in _WITH_BARS if name in sys.modules]
    with_bars = [library for library in libraries if library.is_progress_bar_enabled()]
    logging.disable(logging.CRITICAL)
    for library in with_bars:
        library.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
        for library in with_bars:
            library.enable_progress_bar()
