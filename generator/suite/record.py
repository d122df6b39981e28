"""The record of a made suite, suite.json, and its folder.

    OUT/suite.json          what was made: suite, version, part, form, digests
    OUT/suite.toml          the declaration, as it was
    OUT/TRACK/WORLD/        a dataset for each world

The evaluator imports this module, so it imports nothing of the generator but its base.
"""

from collections.abc import Mapping
from pathlib import Path

# pydantic takes typed dictionaries of typing_extensions alone before Python 3.12.
from typing_extensions import TypedDict

from generator.base.errors import UserError
from generator.base.files import read_json, write_json
from generator.suite.definition import Suite, Track, read_suite

RECORD, DECLARATION = "suite.json", "suite.toml"
FORMAT = "jackalope-suite"


class WorldDigests(TypedDict):
    """The digests of a world, which say whether two worlds are the same."""

    plan: str
    """SHA-256 of what the scenes hold, and of the vocabulary; the same on every machine."""
    texts: str
    """SHA-256 of the texts and questions of all benchmarks; the same on every machine."""
    images: str
    """SHA-256 of the images; the same for the same version of Blender."""
    blender: str
    """Version of Blender that rendered the images, such as "4.5.3"."""
    device: str
    """Kind of device that rendered the images, such as "cpu"."""


class SuiteRecord(TypedDict):
    """suite.json."""

    format: str
    """`FORMAT`."""
    suite: str
    """Name of the suite, without the version."""
    version: int
    """Version of the suite."""
    part: str
    """The part that was made, such as "full"."""
    form: str
    """The form: "standard", or such as "fresh-7"."""
    worlds: Mapping[str, WorldDigests]
    """Digests of the finished worlds, by TRACK/WORLD."""


def world_key(track: str, world: str) -> str:
    """Name a world of a suite, in records and as a folder.

    Args:
        track: Name of the track.
        world: Name of the world.

    Returns:
        The name.

    Example:
        >>> world_key("bind", "color-shape")
        'bind/color-shape'
    """
    return f"{track}/{world}"


def is_suite(root: Path) -> bool:
    """Say whether a folder is a suite that `gen suite` made or began.

    Args:
        root: The folder.

    Returns:
        Whether it has a record.
    """
    return (root / RECORD).is_file()


def read_record(root: Path) -> SuiteRecord:
    """Read the record of a suite's folder.

    Args:
        root: The folder.

    Returns:
        The record.

    Raises:
        UserError: There is no record, or it is damaged.
    """
    if not is_suite(root):
        raise UserError(f"{root} has no {RECORD}; make a suite with `gen suite NAME --out {root}`.")
    record = read_json(root / RECORD, SuiteRecord)
    if record["format"] != FORMAT:
        raise UserError(
            f"{root / RECORD} has the format '{record['format']}', expected '{FORMAT}'; make the "
            f"suite again."
        )
    return record  # type: ignore[return-value]  # its shape was checked


def write_record(root: Path, record: SuiteRecord) -> None:
    """Write the record of a suite's folder.

    Args:
        root: The folder.
        record: The record.
    """
    write_json(root / RECORD, record)


def suite_of_folder(root: Path) -> Suite:
    """Read the declaration that a suite's folder was made from.

    Args:
        root: The folder.

    Returns:
        The suite with its finished worlds, each as the part that was made declares it.

    Raises:
        UserError: The folder is not a suite, is damaged, or has no finished world.
    """
    record = read_record(root)
    suite = read_suite(root / DECLARATION).in_part(record["part"])
    tracks: dict[str, Track] = {}
    for name, track in suite.tracks.items():
        worlds = {}
        for world_name, world in track.worlds.items():
            # Worlds that are not finished have nothing to score.
            if world_key(name, world_name) in record["worlds"]:
                worlds[world_name] = world
        if worlds:
            tracks[name] = track.model_copy(update={"worlds": worlds})
    if not tracks:
        raise UserError(
            f"{root} has no finished world; run the same `gen suite` command again to go on."
        )
    return suite.model_copy(update={"tracks": tracks})
