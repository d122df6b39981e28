"""Find a pretrained model (a folder, a file, or a repository of the Hugging Face Hub), check its
files, and explain loading errors."""

import logging
import re
import sys
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evaluator.models.contracts import is_out_of_memory
from generator.base.errors import UserError
from generator.base.limits import check_file

_MODULES_WITH_BARS = ("transformers.utils.logging", "diffusers.utils.logging")
"""Modules of libraries that show progress bars."""
_OFFLINE_PHRASES = ("connect", "offline mode", "resolve", "Hub", "download")
"""Phrases in errors of a download."""
_UNFIT_PHRASES = ("mismatch", "state_dict")
"""Phrases in torch's errors for weights of another architecture."""
_LONGEST_REASON = 160
"""Characters of a library's error that a message quotes."""
_WEIGHT_SUFFIXES = {".bin", ".ckpt", ".pt", ".pth", ".safetensors", ".tar"}
"""Suffixes of files of weights."""
_LFS_POINTER = b"version https://git-lfs"
"""How a file begins that Git LFS has not fetched yet."""


@contextmanager
def quiet() -> Iterator[None]:
    """Context without log messages, warnings, and progress bars of transformers and diffusers."""
    disabled = logging.root.manager.disable
    libraries = [sys.modules[name] for name in _MODULES_WITH_BARS if name in sys.modules]
    # Only bars that are on are switched off, so that they can be switched on again as the user had
    # them.
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


@dataclass(frozen=True)
class ModelSource:
    """A folder or file, or a repository of the Hub at a revision."""

    name: str
    """As the user wrote it."""
    place: str
    """The folder or the repository, as `from_pretrained` takes it."""
    revision: str | None
    """Branch, tag or commit of the repository; None for its newest commit."""
    advice: str
    """Ends error messages, such as "give vilt: a folder that save_pretrained wrote"."""

    @property
    def is_local(self) -> bool:
        """Whether the place is a folder or file of this machine."""
        return Path(self.place).exists()


def find_source(name: str, option: str, index: str = "config.json") -> ModelSource:
    """Read the name of a pretrained model.

    Args:
        name: `FOLDER`, `OWNER/NAME` or `OWNER/NAME@REVISION`.
        option: The family or option that the user gave it to, such as `vilt:` or
            `--language-model`.
        index: A file that the folder of a model has.

    Raises:
        UserError: The folder or its `index` is missing, the folder holds an adapter, or the name
            cannot be a Hub name.
    """
    advice = (
        f"give {option} a folder that save_pretrained wrote, or OWNER/NAME of the Hugging Face Hub"
    )
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / index).exists():
            if (folder / "open_clip_config.json").exists():
                advice = f"name a folder of open_clip as open_clip:local-dir:{name}"
            raise UserError(f"The folder '{name}' has no {index}; {advice}.")
        if (folder / "adapter_config.json").exists():
            raise UserError(
                f"The folder '{name}' holds an adapter of another model; merge it into that model "
                f"and give the result."
            )
        check_files(folder)
        return ModelSource(name, str(folder), None, advice)
    repository, _, revision = name.partition("@")
    if not is_hub_name(repository):
        raise UserError(f"There is no folder '{name}'; {advice}.")
    return ModelSource(name, repository, revision or None, advice)


def is_hub_name(name: str) -> bool:
    """Whether a name is a possible Hub name, such as `OWNER/NAME`, and not an existing folder.

    >>> is_hub_name("owner/name"), is_hub_name("./folder")
    (True, False)
    """
    fits = re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name) is not None
    return fits and not name.startswith(".") and not Path(name).is_dir()


@contextmanager
def loading(source: ModelSource) -> Iterator[None]:
    """Context that silences libraries and turns their errors into a UserError of one sentence."""
    try:
        with quiet():
            yield
    except UserError:
        raise
    except Exception as error:  # libraries raise errors of many types
        raise UserError(_explain(source, error)) from error


def _explain(source: ModelSource, error: Exception) -> str:
    text = str(error)
    reason = first_line(error)
    if is_out_of_memory(error):
        return (
            f"There is not enough memory to load '{source.name}'; choose --device cpu or a smaller "
            f"model."
        )
    # Libraries wrap errors of the network in types of their own; the words, or the error that
    # caused them, tell a missing download.
    is_download = any(phrase in text for phrase in _OFFLINE_PHRASES) or _is_not_downloaded(error)
    if not source.is_local and is_download:
        return (
            f"'{source.name}' is not on this machine and cannot be downloaded ({reason}); check "
            f"the name and the network."
        )
    if any(phrase in text for phrase in _UNFIT_PHRASES):
        return (
            f"The weights of '{source.name}' do not fit its configuration (tensors of other names "
            f"or shapes); {source.advice}."
        )
    return f"'{source.name}' cannot be loaded ({reason}); {source.advice}."


def _is_not_downloaded(error: BaseException | None) -> bool:
    """Whether an error was caused by a file that is not in the Hub's cache and cannot be
    downloaded."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    while error is not None:
        if isinstance(error, LocalEntryNotFoundError):
            return True
        error = error.__cause__ or error.__context__
    return False


def first_line(error: BaseException) -> str:
    """The first line of an error's message, cut to 160 characters, for use in brackets; the error's
    type if empty."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:_LONGEST_REASON].rstrip(":. ")


def check_files(place: Path) -> None:
    """Raise UserError if a file of weights, at `place` or in that folder, is not a regular file, is
    sparse, is a Git LFS pointer, or unpacks to more than twice its size: PyTorch stores tensors
    uncompressed."""
    if place.is_dir():
        files = sorted(path for path in place.rglob("*") if path.suffix in _WEIGHT_SUFFIXES)
    else:
        files = [place]
    for path in files:
        check_file(path)
        with path.open("rb") as file:
            if file.read(len(_LFS_POINTER)) == _LFS_POINTER:
                raise UserError(
                    f"{path} is a pointer of Git LFS, not the weights; fetch them with `git lfs "
                    f"pull`."
                )
        # torch.save writes a zip archive; a small one that unpacks to terabytes would fill the
        # memory.
        if not zipfile.is_zipfile(path):
            continue
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > 2 * path.stat().st_size:
            raise UserError(
                f"{path} has {path.stat().st_size:,} bytes and unpacks to {unpacked:,}, which no "
                "checkpoint does; take it from someone you trust."
            )
