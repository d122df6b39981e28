"""Silence for model libraries while they load or tokenize: their errors are told in one sentence instead."""

import logging
import pickle
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError

from evaluator.models.weights import check_weights_folder, damage_in
from generator.base.errors import UserError

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


_NOT_TENSORS = (pickle.UnpicklingError, SafetensorError, EOFError)
_OFFLINE = ("connect", "offline mode", "resolve", "Hub")
_LONGEST_LINE = 160


@dataclass(frozen=True)
class Source:
    """A folder, or a repository of the Hub at a revision.

    `name` is what the user wrote. `place` is what `from_pretrained` takes, with `revision`. `option` is the family or
    option that was given the name, such as `vilt:` or `--language-model`; error messages name it.
    """

    name: str
    place: str
    revision: str | None
    option: str

    @property
    def is_folder(self) -> bool:
        """Whether the model is a local folder."""
        return Path(self.place).is_dir()


def find_source(name: str, option: str, index: str = "config.json") -> Source:
    """Read `FOLDER`, `OWNER/NAME` or `OWNER/NAME@REVISION`. A folder holds the file `index`.

    Raises UserError when the folder or its `index` is missing, or when the name cannot be one of the Hub.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / index).exists():
            mend = f"give {option} a folder that save_pretrained wrote"
            if (folder / "open_clip_config.json").exists():
                mend = f"name a folder of open_clip as open_clip:local-dir:{name}"
            raise UserError(f"The folder '{name}' has no {index}; {mend}.")
        if (folder / "adapter_config.json").exists():
            raise UserError(
                f"The folder '{name}' holds an adapter of another model; merge it into that model and give the result."
            )
        check_weights_folder(folder)
        return Source(name, str(folder), None, option)
    repository, _, revision = name.partition("@")
    if not is_hub_name(repository):
        raise UserError(f"There is no folder '{name}'; {_mend(option)}.")
    return Source(name, repository, revision or None, option)


def is_hub_name(name: str) -> bool:
    """Whether a name can be one of the Hub, `OWNER/NAME`, and is that of no folder.

    >>> is_hub_name("owner/name"), is_hub_name("./folder")
    (True, False)
    """
    fits = re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name) is not None
    return fits and not name.startswith(".") and not Path(name).is_dir()


@contextmanager
def loading(source: Source) -> Iterator[None]:
    """Silences the library inside, and raises what it raises as a UserError of one sentence."""
    try:
        with quiet():
            yield
    except UserError:
        raise
    except Exception as error:  # every loader of transformers and diffusers has errors of its own
        raise UserError(_explained(source, error)) from error


def _explained(source: Source, error: Exception) -> str:
    text, reason = str(error), first_line(error)
    if not source.is_folder and (any(sign in text for sign in _OFFLINE) or _not_downloaded(error)):
        return f"'{source.name}' is not on this machine and cannot be downloaded ({reason}); check the name and the network, or give a folder."
    if source.is_folder and (damage := damage_in(Path(source.place))):
        return f"{damage}; copy it again, or {_mend(source.option)}."
    if isinstance(error, _NOT_TENSORS):
        return f"The weights of '{source.name}' are not tensors alone ({reason}); give a model.safetensors."
    if isinstance(error, ImportError):
        return f"'{source.name}' needs a package that is not installed ({reason})."
    if "mismatch" in text:
        return f"The weights of '{source.name}' do not fit its config.json (tensors of other shapes); give weights saved with their own config.json."
    return f"'{source.name}' cannot be loaded ({reason}); {_mend(source.option)}."


def _not_downloaded(error: BaseException | None) -> bool:
    """Whether the cause of an error is a file that is neither in the Hub's cache nor within reach."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    while error is not None:
        if isinstance(error, LocalEntryNotFoundError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _mend(option: str) -> str:
    return f"give {option} a folder that save_pretrained wrote, or OWNER/NAME of the Hugging Face Hub"


def first_line(error: BaseException) -> str:
    """The first line of an error's message, cut to 160 characters, to stand in brackets; else the error's type."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:_LONGEST_LINE].rstrip(":. ")
