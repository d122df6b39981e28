"""A stage: one command, the stages that it reads, and the folder that is named after both."""

import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from generator.base.files import sha256
from generator.dataset.records import FORMAT

_AMENDING = ("gen split", "gen describe", "gen verify")
"""Commands that change the folder that they are given first: the stage has a copy of it. All others write `--out`."""
_DIGITS = 16
_NAME = re.compile(rf"\b(?:gen|score)(?:-[a-z]+)+-[0-9a-f]{{{_DIGITS}}}\b")


@dataclass(frozen=True)
class Stage:
    """One command of `gen` or `score`, without `--out`.

    words: those of the command, in which names of other stages stand for their folders. As text a stage is its name, so
    that an f-string such as f"score run {world} --model jackalope:{model}" is the command of a stage that reads two
    others.
    """

    words: tuple[str, ...]
    reads: tuple["Stage", ...]
    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def command(self) -> str:
        """Such as "gen render" or "score train scratch"."""
        return _command(self.words)

    @property
    def amended(self) -> "Stage | None":
        """The stage whose folder it changes a copy of."""
        return self.reads[0] if self.command in _AMENDING else None

    def out(self, root: Path) -> Path:
        """The folder or file that it writes, in the folder of all stages."""
        return root / self.name / ("out.json" if self.command == "score audit" else "out")

    def arguments(self, root: Path) -> list[str]:
        """The words of its command with folders, from "gen" or "score" on."""
        folders = {stage.name: str(stage.out(root)) for stage in self.reads}
        if self.amended:
            folders[self.amended.name] = str(self.out(root))
        words = [_NAME.sub(lambda found: folders[found[0]], word) for word in self.words]
        return words if self.amended else [*words, "--out", str(self.out(root))]


class Stages:
    """The stages of an experiment, by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, Stage] = {}

    def add(self, command: str | Sequence[str]) -> Stage:
        """The stage of a command: a line as in a shell, or its words.

        Its name has a digest of the command, of the stages that it reads, of the files that it names, of the format of
        datasets and of the version of Jackalope.
        """
        words = tuple(shlex.split(command) if isinstance(command, str) else command)
        reads = [self._by_name[name] for word in words for name in _NAME.findall(word)]
        about = [version("jackalope"), FORMAT, words, [digest for word in words for digest in _contents(word)]]
        digest = hashlib.sha256(json.dumps(about).encode()).hexdigest()[:_DIGITS]
        name = f"{_command(words).replace(' ', '-')}-{digest}"
        return self._by_name.setdefault(name, Stage(words, tuple(dict.fromkeys(reads)), name))


def in_order(stages: Iterable[Stage]) -> list[Stage]:
    """All stages that are read, and those that read them after them; each once."""
    found: dict[str, Stage] = {}

    def add(stage: Stage) -> None:
        if stage.name not in found:
            for each in stage.reads:
                add(each)
            found[stage.name] = stage

    for stage in stages:
        add(stage)
    return list(found.values())


def _command(words: Sequence[str]) -> str:
    return " ".join(words[: 3 if tuple(words[:2]) == ("score", "train") else 2])


def _contents(word: str) -> Iterator[str]:
    """The digest of the file or folder that a word names, as FILE, NAME=FILE, FAMILY:FILE or NAME@FILE."""
    rests = [word, *(word.split(mark, 1)[1] for mark in "=:@" if mark in word)]
    for rest in rests:
        if ("/" in rest or "." in rest) and (path := Path(rest)).exists():
            files = (path,) if path.is_file() else tuple(sorted(each for each in path.rglob("*") if each.is_file()))
            yield _digest(path, files, tuple(each.stat().st_mtime_ns for each in files))
            return


@cache
def _digest(path: Path, files: tuple[Path, ...], changed: tuple[int, ...]) -> str:
    lines = [f"{each.relative_to(path)} {sha256(each)}\n" for each in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()
