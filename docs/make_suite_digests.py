"""Writes the published digests of a suite's standard form, scenes/suites/NAME.digests.toml.

    gen suite jackalope-1 --part tiny --out tiny
    python docs/make_suite_digests.py jackalope-1 tiny

Plans of every part are made here, which takes some minutes. Digests of texts and images are those
of the folders. What earlier folders gave is kept for worlds whose plan is still the same, so
digests of other versions of Blender can be added one after the other. Run it only for a new version
of a suite: published digests of a version stay.
"""

import sys
import tempfile
from pathlib import Path

from generator.plan.prepare import plan_world
from generator.suite.definition import digests_path, read_suite, suite_path
from generator.suite.digests import (
    PublishedDigests,
    PublishedWorld,
    plan_digest,
    read_published,
    write_published,
)
from generator.suite.forms import STANDARD
from generator.suite.making import read_making
from generator.suite.parts import PARTS
from generator.suite.record import SuiteRecord, read_record

HEADING = """\
# Digests of the standard form (docs/suite.md), written by docs/make_suite_digests.py.
# plan and texts are the same on every machine, images for each version of Blender.
"""


def main() -> None:
    """Write the file of the suite that the arguments name, with the digests of the folders."""
    name, *folders = sys.argv[1:]
    path = digests_path(suite_path(name))
    suite = read_suite(name)
    records = [read_record(Path(folder)) for folder in folders]
    for folder, record in zip(folders, records, strict=True):
        identity = (record["suite"], record["version"], record["form"])
        if identity != (suite.name, suite.version, STANDARD):
            raise SystemExit(f"{folder} is not the standard form of {suite.full_name}.")
    published = read_published(path)
    parts: dict[str, dict[str, PublishedWorld]] = {}
    for part in PARTS:
        parts[part] = {}
        for key, digest in plan_digests(name, part).items():
            print(part, key, digest[:12])
            world = published.world(part, key)
            if world is None or world.plan != digest:
                world = PublishedWorld(plan=digest)
            for record in records:
                if record["part"] == part:
                    world = with_record(world, key, record)
            parts[part][key] = world
    write_published(path, PublishedDigests(parts=parts), HEADING)


def plan_digests(name: str, part: str) -> dict[str, str]:
    """Plan every world of a part.

    Args:
        name: Of the suite.
        part: Its part.

    Returns:
        The digest of each plan, by TRACK/WORLD.
    """
    digests = {}
    for job in read_making(name, part=part).jobs():
        with tempfile.TemporaryDirectory() as folder:
            plan_world(job.prepared, Path(folder))
            digests[job.key] = plan_digest(Path(folder))
    return digests


def with_record(world: PublishedWorld, key: str, record: SuiteRecord) -> PublishedWorld:
    """Add the digests of a made world.

    Args:
        world: The published digests.
        key: TRACK/WORLD.
        record: Of the folder.

    Returns:
        The published digests with those of the folder, if it has the world.
    """
    digests = record["worlds"].get(key)
    if digests is None:
        return world
    if digests["plan"] != world.plan:
        raise SystemExit(f"{key} was made from another plan.")
    images = dict(world.images)
    if digests["device"] == "cpu":
        images[digests["blender"]] = digests["images"]
    return PublishedWorld(plan=world.plan, texts=digests["texts"], images=images)


if __name__ == "__main__":
    main()
