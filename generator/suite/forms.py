"""Forms of a suite: the same worlds with other seeds.

The form `standard` has the published seeds. A form `fresh-SEED` has other scenes, other images and
other groups of held-out combinations, by the same design and from the same vocabulary.
"""

import re
from dataclasses import dataclass
from hashlib import sha256

from generator.base.errors import UserError
from generator.suite.definition import Suite

STANDARD = "standard"
"""The form that is published with its digests."""
_FRESH = re.compile(r"fresh-(0|[1-9][0-9]*)")
# Most seeds that are drawn. Scene seeds are 31 bits, so that every reader of JSON and Parquet takes
# them as a number. Block seeds become a part of the names of benchmarks, so they are short.
_SCENE_SEEDS = 2**31
_BLOCK_SEEDS = 10**6


@dataclass(frozen=True)
class WorldSeeds:
    """The seeds of a world in a form."""

    scenes: int
    """As --seed of `gen render`: scenes, positions and sampling noise of images."""
    block: int
    """As --block-seed of `gen render`: groups of held-out combinations."""
    texts: int
    """As --seed of `gen describe`."""


def fresh_form(seed: int) -> str:
    """Name a fresh form.

    Args:
        seed: Any whole number from 0 on.

    Returns:
        The name of the form.

    Example:
        >>> fresh_form(7)
        'fresh-7'
    """
    return f"fresh-{seed}"


def check_form(form: str) -> str:
    """Check the name of a form.

    Args:
        form: The name.

    Returns:
        The name.

    Raises:
        UserError: It is neither `standard` nor like `fresh-7`.
    """
    if form != STANDARD and not _FRESH.fullmatch(form):
        raise UserError(f"Expected a form to be {STANDARD} or like fresh-7, got '{form}'.")
    return form


def seeds_of(suite: Suite, track: str, *, world: str, form: str) -> WorldSeeds:
    """Compute the seeds of a world.

    They are taken from the SHA-256 of the names of suite, track, world and form and of the suite's
    version, so nobody can choose them, and forms share no seed but by chance. The parts of a suite
    have the same seeds.

    Args:
        suite: The suite.
        track: Name of the track.
        world: Name of the world.
        form: Name of the form.

    Returns:
        The seeds.
    """
    # Names have no "/", so different names never give the same text.
    text = "/".join((suite.name, str(suite.version), track, world, form))
    digest = sha256(text.encode()).digest()
    # Eight bytes of the digest for each seed.
    numbers = [int.from_bytes(digest[start : start + 8]) for start in (0, 8, 16)]
    scenes, block, texts = numbers
    return WorldSeeds(scenes % _SCENE_SEEDS, block % _BLOCK_SEEDS, texts % _SCENE_SEEDS)
