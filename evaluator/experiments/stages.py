"""`Stage`: one command of an experiment, with its arguments and the folder that it writes.

The arguments are values and other stages. A stage among the arguments stands for the folder that it
writes, and is an input of the stage that has it.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from evaluator.experiments.source_code import code_digest
from generator.base.errors import UserError
from generator.base.files import sha256

_AMENDING = ("gen split", "gen describe", "gen verify")
"""Commands that change the folder in their first argument: the stage works on a copy, so that the
folder of the stage before stays what its name says. All others write `--out`."""
_DIGEST_DIGITS = 16
"""Hexadecimal digits in the name of a stage: 64 bits, so that names do not collide by chance."""

Value: TypeAlias = "str | int | float | Path | Stage | Text"
"""An argument of a command, or the value of an option."""
Option: TypeAlias = "Value | bool | Sequence[Value] | None"
"""What an option is set to: a value; True for a flag; several values for an option that is
repeated; None or False to leave it out."""
Options: TypeAlias = Mapping[str, Option]
"""Options by name, with _ for -: {"block_seed": 0} is --block-seed 0."""


@dataclass(frozen=True)
class Stage:
    """One command of `gen` or `score`, made by `new_stage`. Stages of the same name are equal."""

    name: str
    """The command and a digest of all that it depends on (see `new_stage`). It names the stage's
    folder."""
    command: str = field(compare=False)
    """The command without arguments, such as "gen render" or "score train scratch"."""
    arguments: tuple[Value, ...] = field(compare=False)
    """The arguments without a name, in order."""
    options: Options = field(compare=False)
    """The options that are set, without `out`."""

    def __format__(self, spec: str) -> str:
        """Refuse to become a part of a string, in which its folder is not known yet."""
        raise UserError(
            f"The stage {self.name} cannot be part of a string; give it as an argument, or join it "
            f"with text by `joined`."
        )

    @property
    def inputs(self) -> tuple["Stage", ...]:
        """The stages whose folders the command reads, in the order of its arguments."""
        stages: dict[Stage, None] = {}
        for value in self._values():
            for part in _parts_of(value):
                if isinstance(part, Stage):
                    stages[part] = None
        return tuple(stages)

    @property
    def amended(self) -> "Stage | None":
        """The stage whose folder this stage copies and changes; None for other commands."""
        return self.inputs[0] if self.command in _AMENDING else None

    def out(self, root: Path) -> Path:
        """The folder or file that the stage writes.

        Args:
            root: The folder of all stages.
        """
        return root / self.name / ("out.json" if self.command == "score audit" else "out")

    def words(self, root: Path) -> list[str]:
        """The words of the command line, "gen" or "score" first, with `--out`.

        Args:
            root: The folder of all stages.
        """
        words = self.command.split()
        for argument in self.arguments:
            words.append(self._word(argument, root))
        for name, option in self.options.items():
            flag = f"--{name.replace('_', '-')}"
            if option is True:
                words.append(flag)
                continue
            for value in _listed(option):
                words += [flag, self._word(value, root)]
        if not self.amended:
            words += ["--out", str(self.out(root))]
        return words

    def _values(self) -> Iterator[Value]:
        """Yields the arguments, and the values of the options."""
        yield from self.arguments
        for option in self.options.values():
            yield from _listed(option)

    def _word(self, value: Value, root: Path) -> str:
        """A value as a word, with stages replaced by their folders."""
        word = ""
        for part in _parts_of(value):
            if not isinstance(part, Stage):
                word += str(part)
            elif part == self.amended:
                # The command changes the stage's own copy.
                word += str(self.out(root))
            else:
                word += str(part.out(root))
        return word


@dataclass(frozen=True)
class Text:
    """A word of a command within which stages stand for their folders, such as
    jackalope:FOLDER,samples=16."""

    parts: tuple[str | Stage, ...]
    """The text between the folders, and the stages."""

    @property
    def written(self) -> str:
        """The text alone, without the folders."""
        return "".join(part for part in self.parts if isinstance(part, str))


def joined(*values: Value) -> Text:
    """Join text and stages to one word.

    Args:
        values: Text, stages, or words joined before.

    >>> joined("CLIP", "=", "open_clip:ViT-B-32").written
    'CLIP=open_clip:ViT-B-32'
    """
    parts: list[str | Stage] = []
    for value in values:
        for part in _parts_of(value):
            parts.append(part if isinstance(part, Stage) else str(part))
    return Text(tuple(parts))


def new_stage(command: str, *arguments: Value, **options: Option) -> Stage:
    """Make the stage of a command.

    The stage's name contains a digest of the command with its arguments and options; of its inputs,
    by their names; of the contents of files that it names; and of the code that the command runs
    (evaluator.experiments.source_code). So a finished stage of that name needs no second run.

    Args:
        command: A command of `gen` or `score`, without arguments and `--out`.
        arguments: Its arguments without a name.
        options: Its options, by name with _ for -.

    Raises:
        UserError: There is no such command.
    """
    set_options = {}
    for option_name, option in options.items():
        if option is not None and option is not False:
            set_options[option_name] = option
    # The names of inputs have their own digests in them, so a change of any stage before changes
    # this name.
    depends_on: list[Any] = [code_digest(command), command]
    depends_on.append([_described(value) for value in arguments])
    for option_name, option in set_options.items():
        depends_on.append([option_name, [_described(value) for value in _listed(option)]])
    digest = hashlib.sha256(json.dumps(depends_on).encode()).hexdigest()[:_DIGEST_DIGITS]
    name = f"{command.replace(' ', '-')}-{digest}"
    return Stage(name, command, arguments, set_options)


def in_order(stages: Iterable[Stage]) -> list[Stage]:
    """The stages and all their inputs, without duplicates; each after its inputs."""
    ordered: dict[Stage, None] = {}

    def add(stage: Stage) -> None:
        if stage not in ordered:
            for needed in stage.inputs:
                add(needed)
            ordered[stage] = None

    for stage in stages:
        add(stage)
    return list(ordered)


def _listed(option: Option) -> Sequence[Any]:
    """The values of an option that is set; True for a flag."""
    return option if isinstance(option, list | tuple) else (option,)


def _parts_of(value: Value) -> tuple[Any, ...]:
    """The parts of a word: text and stages."""
    return value.parts if isinstance(value, Text) else (value,)


def _described(value: Value) -> list[Any]:
    """What a stage's digest takes of a value: the name of an input, the contents of files, text."""
    description: list[Any] = []
    for part in _parts_of(value):
        if isinstance(part, Stage):
            description.append({"stage": part.name})
        elif isinstance(part, Path):
            # Where the file lies does not matter.
            description.append({"file": part.name, "contents": _digest_of_path(part)})
        else:
            description += [str(part), *_digests_of_named_files(str(part))]
    return description


def _digests_of_named_files(word: str) -> Iterator[str]:
    """Yields a digest for each file or folder that a word of a command names.

    A word may be FILE, NAME=FILE, FAMILY:FILE,ARGUMENT=VALUE or NAME@FILE, so a name can begin at
    the start and after each of = : @, and ends before ",ARGUMENT=". A name without "/" and "." is
    taken for a file only after ":" (jackalope:model): elsewhere it is an option's value, even if a
    file of that name happens to lie here.
    """
    starts = [0] + [mark.end() for mark in re.finditer("[=:@]", word)]
    for start in starts:
        name = re.split(r",(?=\w+=)", word[start:])[0]
        looks_like_a_path = "/" in name or "." in name or word[start - 1 : start] == ":"
        if looks_like_a_path and os.path.exists(name):
            yield _digest_of_path(Path(name))


def _digest_of_path(path: Path) -> str:
    """A digest of the contents of a file, or of all files of a folder with their names in it."""
    if path.is_file():
        files: tuple[Path, ...] = (path,)
    else:
        files = tuple(sorted(inside for inside in path.rglob("*") if inside.is_file()))
    # Times of change are part of the cache's key: a large file is read once until it changes.
    return _digest_of_files(path, files, tuple(file.stat().st_mtime_ns for file in files))


@cache
def _digest_of_files(path: Path, files: tuple[Path, ...], changed: tuple[int, ...]) -> str:
    """A digest of the contents of files, with their names within `path`. changed: when each was
    changed last, in ns."""
    lines = [f"{file.relative_to(path)} {sha256(file)}\n" for file in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()
