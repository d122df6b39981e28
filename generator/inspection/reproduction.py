"""Makes a dataset again from its recorded requests and compares the bytes. Images and poses are
taken as given.

Plans, recorded relations, texts, items, manifests, sums and cards are deterministic functions of
the request. The code that wrote them writes them again into a temporary folder, and every file must
be identical. A component that another version or other code wrote is skipped: only the judge checks
it.
"""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from generator.base.errors import UserError
from generator.base.files import ABOUT, SUMS, read_json, read_sums, sha256, write_json, write_sums
from generator.base.limits import read_bytes
from generator.base.listed import copy_files
from generator.base.paths import file_in
from generator.base.progress import SILENT, Progress
from generator.base.tables import read_schema, read_table
from generator.dataset.floor import FLOOR_FILE
from generator.dataset.journal import Journal
from generator.dataset.packing import Packer
from generator.dataset.reader import Benchmark, Dataset, World
from generator.dataset.records import SCENES, VERSION
from generator.dataset.writer import WorldWriter, write_index
from generator.describe.benchmark import describe_world, read_assigned_splits
from generator.describe.request import TextRequest
from generator.holdout.holdout import Holdout, check_fits
from generator.holdout.request import HoldoutRequest
from generator.judge.certificate import DAMAGE, Finding, Reproduced, finding
from generator.plan.job import MOST_OBJECTS, Job, Prepared
from generator.plan.store import Assigned, StoredPlan, write_plan
from generator.render.shards import ShardScenes
from generator.scene.exchange import exchanged
from generator.scene.planned import Planned
from generator.scene.relations import scene_row
from generator.scene.scene import Scene, SceneObject
from generator.vocabulary.schema import Vocabulary, parse_vocabulary

_FAULT = "not reproduced"
_FAILURES = (*DAMAGE, AssertionError)  # describing asserts the truth of every text that it writes
_MOST_SHOWN = 120  # characters of a value in a finding
_MOST_FILE = 1 << 30
_APART = (
    "apart"  # the folder of the new world: it must start empty, and benchmarks may be made first
)
_LARGE = 1 << 18  # bytes of scenes.parquet, for one or two thousand scenes


@dataclass(frozen=True)
class Reproduction:
    """Makes benchmarks and their world again. Implements `generator.judge.certificate.Reproduce`.

    The components of a large dataset are made in parallel processes while the judge runs.
    """

    progress: Progress = field(default=SILENT)

    def __call__(self, root: Path, names: Sequence[str]) -> Callable[[], dict[str, Reproduced]]:
        """Start to make the world and the benchmarks `names` of a dataset again. Returns a function
        that waits for the result and returns the differences by benchmark."""
        table = root / "world" / "scenes.parquet"
        if not table.exists() or table.stat().st_size < _LARGE:
            return lambda: _made_again(root, names, self.progress)
        thread = ThreadPoolExecutor(1)
        made = thread.submit(_made_again, root, names, None)
        thread.shutdown(wait=False)
        return made.result


def _made_again(
    root: Path, names: Sequence[str], progress: Progress | None
) -> dict[str, Reproduced]:
    """The differences by benchmark. Without `progress`, each component is made in a separate
    process."""
    with tempfile.TemporaryDirectory(prefix="jackalope-") as folder:
        again, parts = Path(folder) / "dataset", (None, *names)
        again.mkdir()
        if progress is None:
            with ProcessPoolExecutor(len(parts), get_context("spawn")) as pool:
                waiting = [pool.submit(_component, root, again, name) for name in parts]
                world, *benchmarks = map(_result, waiting)
        else:
            world, *benchmarks = [_component(root, again, name, progress) for name in parts]
        with suppress(FileNotFoundError):
            (again.with_name(_APART) / "world").rename(again / "world")
        cards = Reproduced(True, tuple(_of_cards(root, again)))
    return {name: _joined(world, made, cards) for name, made in zip(names, benchmarks, strict=True)}


def _result(made: Future[Reproduced]) -> Reproduced:
    try:
        return made.result()
    except BrokenProcessPool:  # as when memory ran out
        return Reproduced(False, (), "its process ended early")


def _component(
    root: Path, again: Path, name: str | None, progress: Progress = SILENT
) -> Reproduced:
    """Make the benchmark `name` of a dataset again, or its world if `name` is None."""
    if name is None:
        apart = again.with_name(_APART)
        return _attempt(lambda: _world(root, apart, progress), root / "world", apart / "world")
    given, made = (folder / "benchmarks" / name for folder in (root, again))
    return _attempt(lambda: _benchmark(root, again, name, progress), given, made)


def _world(root: Path, again: Path, progress: Progress) -> str | None:
    """Make the world of `root` again in `again`. Returns None, or the reason why it cannot be made
    again."""
    source = Dataset.open(root).world
    if reason := _other_maker(source.manifest):
        return reason
    request = json.loads(json.dumps(source.manifest["request"]))
    prepared = prepared_by(request, source.scenes.num_rows)
    size = {name: request[name] for name in ("width", "height")}
    with WorldWriter(
        again, {**request, **prepared.request, **size}, lambda *of: _Repacker(source, *of)
    ) as writer:
        plan = write_plan(again, prepared.request, prepared.planned)
        scenes = ShardScenes(plan, request.get("shard"))
        for record in progress.each(
            _records(source, scenes, prepared.vocabulary), "scenes again", len(scenes)
        ):
            writer.add(record)
        writer.finish(prepared.text)
    return None


def _benchmark(root: Path, again: Path, name: str, progress: Progress) -> str | None:
    """Make a benchmark again in `again`, over the given world. Returns as `_world` does."""
    dataset = Dataset.open(root)
    source, world = dataset.benchmark(name), dataset.world
    if "request" not in source.manifest:
        return "it was not made by `gen`"
    if reason := _other_maker(source.manifest):
        return reason
    holdout = Holdout.from_dict(source.holdout_block())
    if unknown := check_fits(holdout, parse_vocabulary(world.vocabulary_text, "vocabulary.toml")):
        raise UserError(
            f"holdout.json names {', '.join(unknown)}, which the vocabulary does not have"
        )
    asked, with_world = source.manifest["request"], source.manifest.get("with_world", False)
    request = replace(TypeAdapter(TextRequest).validate_python(asked), strict=False)
    assigned = _assigned(
        source, root, asked, world.manifest["request"]["holdouts"] if with_world else None
    )
    describe_world(
        again,
        world,
        holdout=holdout,
        name=name,
        request=request,
        assigned=assigned,
        with_world=with_world,
        progress=progress,
    )
    return None


def _attempt(make: Any, given: Path, made: Path) -> Reproduced:
    """Run `make` for a component and compare the files. Without success, copies the given component
    instead."""
    try:
        reason = make()
        if reason is None:
            _adopt_encoding(given, made)
            return Reproduced(True, tuple(_differences(given, made)))
        _stand_in(given, made)
        return Reproduced(False, (), reason)
    except _FAILURES as error:
        said = error.message if isinstance(error, UserError) else repr(error)
    with suppress(*_FAILURES):
        _stand_in(given, made)
    return Reproduced(True, (finding(_FAULT, f"{given.name} cannot be made again: {said}"),))


def _adopt_encoding(given: Path, made: Path) -> None:
    """Replace each new table with the given file if their rows are equal, and update sums and
    manifest.

    Other versions of pyarrow encode the same rows in other bytes.
    """
    sums = read_sums(made)
    for path in made.glob("*.parquet"):
        other = given / path.name
        if (
            other.exists()
            and sha256(other) != sha256(path)
            and next(_rows(other, path), None) is None
        ):
            copy_files(given, [path.name], made)
            sums[path.name] = sha256(path)
    write_json(
        made / "manifest.json",
        {**read_json(made / "manifest.json"), "sums": write_sums(made, sums)},
    )


def _joined(*parts: Reproduced) -> Reproduced:
    reasons = [part.reason for part in parts if not part.done]
    findings = tuple(found for part in parts for found in part.findings)
    return Reproduced(not reasons, findings, "; ".join(dict.fromkeys(reasons)))


def _other_maker(manifest: Mapping[str, Any]) -> str | None:
    version = manifest.get("version")
    return (
        None if version == VERSION else f"it was made by version {version}, and this is {VERSION}"
    )


def _stand_in(given: Path, made: Path) -> None:
    """Copy the small files of a component, so that dependent components can be made."""
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    tables = [
        name for name in read_sums(given) if "/" not in name and file_in(given, name).exists()
    ]
    copy_files(given, [*tables, SUMS, "manifest.json"], made)


# The world


def prepared_by(request: Mapping[str, Any], n_scenes: int) -> Prepared:
    """The job that a world's manifest records, prepared with the recorded vocabulary.

    Raises UserError if it asks for many more scenes than the world has, or for an invalid number of
    objects.
    """
    size = request
    while "from" in size:  # scenes are placed for the size at which they were first rendered
        size = size["from"]
    vocabulary = parse_vocabulary(request["vocabulary"], "world/vocabulary.toml")
    specs, seeds, opposites = (
        tuple(request["holdout"]),
        tuple(request["block_seed"]),
        request["opposites"],
    )
    least, most = request["objects"]
    scenes = request["scenes_asked"]
    asked = HoldoutRequest(request["design"], specs, seeds, opposites, scenes)
    if any(spec.strip().endswith(".json") for spec in specs):
        holdouts = [Holdout.from_dict(each) for each in request["holdouts"]]
    else:
        holdouts = asked.holdouts(vocabulary)
    parts = asked.parts(holdouts, vocabulary)
    planned = sum(sum(part.counts.values()) for part in parts if part.counts is not None)
    _, n_shards = request.get("shard", (1, 1))
    if planned > 1_000 + 10 * n_scenes * n_shards or not 1 <= least <= most <= MOST_OBJECTS:
        raise UserError(
            f"its manifest asks for {planned:,} scenes of {least} to {most} objects, but it has "
            f"{n_scenes:,} scenes"
        )
    job = Job(
        vocabulary.name,
        specs,
        scenes,
        size["width"],
        size["height"],
        request["seed"],
        seeds,
        (least, most),
        request["pairs"],
        request["exchange"],
        request["design"],
        opposites,
    )
    return Prepared(job, request["vocabulary"], vocabulary, holdouts, parts, request.get("assets"))


def _records(world: World, scenes: ShardScenes, vocabulary: Vocabulary) -> Iterator[dict[str, Any]]:
    """A worker's answer for each planned scene, built from its recorded poses. Raises UserError if
    a row does not match the plan."""
    rows = (row for batch in world.batches("scenes", SCENES.names) for row in batch.to_pylist())
    base: Scene | None = None
    for planned, row in zip_longest(scenes, rows):
        if planned is None or row is None or planned.scene_id != row["scene_id"]:
            listed, due = row and row["scene_id"], planned and planned.scene_id
            raise UserError(f"scenes.parquet has the scene {listed} where the plan has {due}")
        if planned.twin_of is None:
            base = None
        if row["scene"] is None:
            kept = {name: getattr(planned, name) for name in ("scene_id", "cluster_id", "twin_of")}
            yield {**kept, "failed": row["reason"] or "no reason"}
            continue
        scene = _placed(planned, Scene.from_json(row["scene"]), base)
        base = scene if planned.twin_of is None else base
        seen = [(each["amodal_box"], each["visible_fraction"]) for each in row["objects"]]
        yield {
            **scene_row(planned, scene, seen, vocabulary),
            "files": world.files_of(planned.scene_id),
        }


def _placed(planned: Planned, recorded: Scene, base: Scene | None) -> Scene:
    """The planned content at the recorded poses. A twin is its scene `base` with the exchange
    applied."""
    if base is not None and planned.exchange is not None:
        return exchanged(base, planned.exchange)
    poses = recorded.objects
    content = [
        SceneObject(category, attributes, pose.position, pose.heading)
        for (category, attributes), pose in zip(planned.objects, poses, strict=True)
    ]
    scene = replace(
        recorded, objects=tuple(content), environment=planned.environment, yaw=planned.yaw
    )
    if planned.twin_of is None or planned.exchange is None:
        return scene
    shown = exchanged(scene, planned.exchange).objects  # the twin of a scene that failed
    return replace(
        scene,
        objects=tuple(
            replace(one, heading=pose.heading) for one, pose in zip(shown, poses, strict=True)
        ),
    )


class _Repacker(Packer):
    """Packs the given files of scenes into tars again, and keeps only the digest of each tar."""

    def __init__(self, source: World, folder: Path, size: int, journal: Journal):
        super().__init__(folder, size, journal)
        self._source = source

    def read(self, path: str) -> bytes:
        return self._source.read(path)

    def _fill(
        self, tar: str, scene: Mapping[str, Any] | None, rest: Iterator[Mapping[str, Any]]
    ) -> Mapping[str, Any] | None:
        following = super()._fill(tar, scene, rest)
        (self._folder / tar).unlink()
        return following


# Benchmarks


def _assigned(
    source: Benchmark, root: Path, asked: Mapping[str, Any], holdouts: Sequence[Any] | None
) -> Mapping[str, Assigned] | None:
    """The assigned splits of scenes, from the plan or kept from another benchmark; None if none
    were assigned.

    `holdouts`: the world's holdouts, for a benchmark that was made with it. The manifest has a
    digest of the splits.
    """
    if asked.get("splits") is None:
        return None
    if holdouts is not None:
        return StoredPlan(root).assigned()[holdouts.index(source.holdout_block())]
    return read_assigned_splits(root, source)


# Comparing


def _of_cards(root: Path, again: Path) -> Iterator[Finding]:
    """Differences of dataset.json and the cards, over all benchmarks of the dataset."""
    try:
        for given in (
            root / "world",
            *(path.parent for path in root.glob("benchmarks/[!.]*/manifest.json")),
        ):
            made = again / given.relative_to(root)
            if not (made / "manifest.json").exists():
                _stand_in(given, made)
            if (given / FLOOR_FILE).exists():  # not made again, but declared in the card
                copy_files(given, [FLOOR_FILE], made)
        write_index(again)
    except _FAILURES as error:
        yield finding(_FAULT, f"dataset.json and the cards cannot be made again: {error!r}")
        return
    for name in ("dataset.json", "README.md", "croissant.json"):
        yield from _difference(root / name, again / name)


def _differences(given: Path, made: Path) -> Iterator[Finding]:
    """Files that differ. Scene files are compared by their digests in the sums; the judge checks
    their bytes."""
    names = {
        path.name for folder in (given, made) for path in folder.iterdir() if path.is_file()
    } - {*ABOUT}
    for name in sorted(names):
        yield from _difference(given / name, made / name)


def _difference(given: Path, made: Path) -> Iterator[Finding]:
    where = f"{given.parent.name}/{given.name}"
    if not given.exists():
        yield finding(_FAULT, f"{where} is missing")
        return
    if not made.exists():
        yield finding(_FAULT, f"{where} is not among the files that are made again")
        return
    try:
        if sha256(given) == sha256(made):
            return
        differ = _rows if given.suffix == ".parquet" else _lines
        one, other = next(differ(given, made), ("other bytes", "the same content"))
    except DAMAGE as error:
        one, other = f"unreadable content ({error})", "a whole file"
    yield finding(
        _FAULT, f"{where} has {one[:_MOST_SHOWN]}; made again, it has {other[:_MOST_SHOWN]}"
    )


def _lines(given: Path, made: Path) -> Iterator[tuple[str, str]]:
    both = [
        read_bytes(path, _MOST_FILE).decode("utf-8", "replace").splitlines()
        for path in (given, made)
    ]
    for number, (one, other) in enumerate(zip_longest(*both, fillvalue="nothing"), 1):
        if one != other:
            yield f"in line {number} '{one.strip()}'", f"'{other.strip()}'"


def _rows(given: Path, made: Path) -> Iterator[tuple[str, str]]:
    """The first value that differs between two tables, with the first column of its row, or a
    difference of schemas."""
    schemas = [read_schema(path) for path in (given, made)]
    if not schemas[0].equals(schemas[1], check_metadata=True):
        yield "other columns, types or metadata", "those of the format and the request"
        return
    one, other = read_table(given), read_table(made)
    for start in range(0, max(len(one), len(other)), 1_000):
        parts = [table.slice(start, 1_000) for table in (one, other)]
        if parts[0].equals(parts[1]):
            continue
        for row, due in zip_longest(*(part.to_pylist() for part in parts)):
            if row is None or due is None:
                yield _row(row), _row(due)
                return
            for name in row:
                if row[name] != due[name]:
                    yield (
                        f"{name} {row[name]!r} in the row {next(iter(row.values()))}",
                        repr(due[name]),
                    )
                    return


def _row(row: Mapping[str, Any] | None) -> str:
    return "no more rows" if row is None else f"the row {next(iter(row.values()))}"
