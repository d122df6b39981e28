"""How far a certificate reaches: to the records alone, to a sample of images, or to all of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from generator.judge.findings import Finding


class Level(StrEnum):
    """What a certificate covers (docs/verify.md, Levels)."""

    RECORDS = "records"
    SAMPLED = "sampled images"
    ALL = "all images"


@dataclass(frozen=True)
class Images:
    """What a look at the images of a world found.

    `level`: how many were looked at. `facts`: numbers for the certificate, by name. `sentence`: what was compared, for its
    sentence; empty at the level of records.
    """

    level: Level = Level.RECORDS
    findings: Sequence[Finding] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    sentence: str = ""


@dataclass(frozen=True)
class Reproduced:
    """What came of making a benchmark and its world again, to compare the bytes of their files.

    `done`: whether both were made again. `reason`: why not.
    """

    done: bool = False
    findings: Sequence[Finding] = ()
    reason: str = "nobody asked for it"


Reproduce = Callable[[Path, Sequence[str]], Mapping[str, Reproduced]]
"""Makes some benchmarks of the dataset in a folder again, and their world."""

Examine = Callable[[Path, Mapping[str, tuple[str, ...]]], Images]
"""Looks at images of the dataset in a folder. The scenes are given by id, each with its split in every benchmark."""
