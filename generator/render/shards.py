"""Shards: which scenes to render here, and whether their files go into tars."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from generator.base.errors import UserError
from generator.scene.planned import Planned, Scenes

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}


@dataclass(frozen=True)
class Storage:
    """`shard`: (i, n), the i-th of n parts of the scenes, from 1; None for all. `tar_bytes`: the largest size of a tar; None
    writes one file per image."""

    shard: tuple[int, int] | None = None
    tar_bytes: int | None = None


class ShardScenes:
    """The scenes of a plan that are rendered here: all, or of n shards every n-th scene from the i-th on."""

    def __init__(self, planned: Scenes, shard: tuple[int, int] | None):
        i, n = shard or (1, 1)
        self._planned, self._first, self._step = planned, i - 1, n

    def __len__(self) -> int:
        return len(range(self._first, len(self._planned), self._step))

    def __iter__(self) -> Iterator[Planned]:
        return islice(self._planned, self._first, None, self._step)


def parse_shard(spec: str | None) -> tuple[int, int] | None:
    """(2, 8) from `2/8`. Raises UserError if malformed.

    >>> parse_shard("2/8")
    (2, 8)
    """
    if spec is None:
        return None
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", spec)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise UserError(f"Expected --shard to be i/n such as 2/8, with i from 1 to n, got '{spec}'.")
    return int(found[1]), int(found[2])


def parse_size(spec: str) -> int:
    """Bytes from `256MB`, `1GB` or `500KB`, in powers of 1000. Raises UserError if malformed.

    >>> parse_size("256MB")
    256000000
    """
    found = re.fullmatch(r"([0-9]+)\s*([KMG]?B?)", spec.strip().upper())
    unit = found[2] if found and found[2] in _UNITS else f"{found[2]}B" if found else ""
    if not found or int(found[1]) == 0 or unit not in _UNITS:
        raise UserError(f"Expected a size such as 256MB, 1GB or 500KB, got '{spec}'.")
    return int(found[1]) * _UNITS[unit]
