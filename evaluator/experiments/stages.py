"""A stage: one command, the stages that it reads, and the folder that is named after both."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from evaluator.experiments.commands import Kind
from generator.base.files import sha256
from generator.dataset.records import FORMAT

_MARK = "\0"  # stands on both sides of a digest, in place of a folder's path
_DIGITS = 16
OUT = "out"


@dataclass(frozen=True, eq=False)
class Stage:
    """One command. words: after its name, with marks where folders of other stages stand. outline: the words with names left for
    stages and for lists. label: that of a run, else "".
    """

    kind: Kind
    words: tuple[str, ...]
    reads: tuple["Stage", ...] = ()
    outline: str = ""
    label: str = ""
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        about = [FORMAT, self.kind.words, self.words, [digest for word in self.words for digest in _contents(word)]]
        object.__setattr__(self, "digest", hashlib.sha256(json.dumps(about).encode()).hexdigest()[:_DIGITS])

    @cached_property
    def like(self) -> str:
        """Alike in stages that should cost alike: those that differ only in elements of lists, such as seeds."""
        about = [self.kind.words, self.outline.split(), *(read.like for read in self.reads)]
        return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:_DIGITS]

    @property
    def name(self) -> str:
        """The name of its folder."""
        return "-".join((*self.kind.words, self.digest))

    @property
    def mark(self) -> str:
        """What stands for the folder that it writes, in the words of a stage that reads it."""
        return f"{_MARK}{self.name}{_MARK}"

    def out(self, root: Path) -> Path:
        """The folder or file that it writes, in the folder of all stages."""
        return root / self.name / f"{OUT}{self.kind.suffix}"

    def arguments(self, root: Path) -> list[str]:
        """The words of its command, from "gen" or "score" on."""
        folders = {stage.mark: str(stage.out(root)) for stage in self.reads}
        if self.kind.amends:
            folders[self.amended.mark] = str(self.out(root))
        words = [_filled(word, folders) for word in self.words]
        return [*self.kind.words, *words, *([] if self.kind.amends else ["--out", str(self.out(root))])]

    @property
    def amended(self) -> "Stage":
        """The stage whose folder it amends a copy of: the first that it names."""
        return self.reads[0]


def _filled(word: str, folders: dict[str, str]) -> str:
    for mark, folder in folders.items():
        word = word.replace(mark, folder)
    return word


def in_order(stages: Iterable[Stage]) -> list[Stage]:
    """All stages that are read, and those that read them after them; each once."""
    found: dict[str, Stage] = {}

    def add(stage: Stage) -> None:
        if stage.digest not in found:
            for each in stage.reads:
                add(each)
            found[stage.digest] = stage

    for stage in stages:
        add(stage)
    return list(found.values())


def _contents(word: str) -> Iterator[str]:
    """The digest of the file or folder that a word names, as FILE, NAME=FILE, FAMILY:FILE or NAME@FILE."""
    if _MARK in word:
        return
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
