"""Makes a dataset again from its recorded requests, in a scratch folder, and compares the files.

Plans, recorded relations, texts, items, manifests, sums and cards are deterministic functions of
the request. Poses and images are not: they are taken from the dataset. The functions that wrote the
dataset write it again:

1. The world: the plan is made from the request (`write_plan`); each planned scene gets the recorded
   poses, boxes and images, and `WorldWriter` writes the world.
2. Each benchmark over the original world (`describe_world`).
3. dataset.json and the cards over all of them (`write_index`).

Every file must be identical. A component that another version or other code wrote is not made
again: only the judge checks it.
"""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import zip_longest
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from generator.base.errors import UserError
from generator.base.files import SUMS, read_json, read_sums, sha256, write_json, write_sums
from generator.base.listed import copy_files
from generator.base.paths import file_in
from generator.base.progress import SILENT, Progress
from generator.dataset.floor import FLOOR_FILE
from generator.dataset.reader import Benchmark, Dataset, World
from generator.dataset.records import SCENES, VERSION
from generator.dataset.writer import WorldWriter, write_index
from generator.describe.benchmark import describe_world, read_assigned_splits
from generator.describe.request import TextRequest
from generator.holdout.holdout import Holdout, check_fits
from generator.inspection.differences import file_difference, folder_differences, same_rows
from generator.judge.certificate import DAMAGE, Finding, Reproduced, finding
from generator.plan.prepare import MOST_OBJECTS, Prepared
from generator.plan.store import Assigned, StoredPlan, write_plan
from generator.render.shards import ShardScenes
from generator.scene.exchange import exchanged
from generator.scene.planned import Planned
from generator.scene.relations import scene_row
from generator.scene.scene import Scene, SceneObject
from generator.scene.steps import as_recorded, at_step
from generator.scene.turning import turned
from generator.vocabulary.schema import Vocabulary, parse_vocabulary

FAULT = "not reproduced"
"""The fault of every difference."""
_FAILURES = (*DAMAGE, AssertionError)
"""What making a component again may raise: describing asserts the truth of every text."""
_LARGE = 1 << 18
"""Bytes of scenes.parquet from which on components are made in processes of their own: one or two
thousand scenes."""
_CARDS = ("dataset.json", "README.md", "croissant.json")
"""Files about all components of a dataset."""


@dataclass(frozen=True)
class Reproduction:
    """Makes benchmarks and their world again. Implements `generator.judge.certificate.Reproduce`.

    The components of a large dataset are made in parallel processes while the judge runs.
    """

    progress: Progress = SILENT
    """Shows how far the components of a small dataset are."""

    def __call__(self, root: Path, names: Sequence[str]) -> Callable[[], dict[str, Reproduced]]:
        """Start to make the world and the benchmarks `names` of a dataset again. Returns a function
        that waits for the result and returns the differences by benchmark."""
        table = root / "world" / "scenes.parquet"
        if not table.exists() or table.stat().st_size < _LARGE:
            return lambda: _reproduce(root, names, self.progress)
        thread = ThreadPoolExecutor(1)
        result = thread.submit(_reproduce, root, names, None)
        thread.shutdown(wait=False)
        return result.result


def _reproduce(
    root: Path, names: Sequence[str], progress: Progress | None
) -> dict[str, Reproduced]:
    """The differences by benchmark. Without `progress`, each component is made in a process of its
    own."""
    components = [_Component(root), *(_Component(root, name) for name in names)]
    with tempfile.TemporaryDirectory(prefix="jackalope-") as folder:
        scratch = Path(folder)
        if progress is None:
            with ProcessPoolExecutor(len(components), get_context("spawn")) as pool:
                running = [pool.submit(component.reproduce, scratch) for component in components]
                results = [_result_of(future) for future in running]
        else:
            results = [component.reproduce(scratch, progress) for component in components]
        cards = Reproduced(True, tuple(_card_findings(root, components, scratch)))
    world, *benchmarks = results
    return {
        name: _joined(world, benchmark, cards)
        for name, benchmark in zip(names, benchmarks, strict=True)
    }


def _result_of(future: "Future[Reproduced]") -> Reproduced:
    try:
        return future.result()
    except BrokenProcessPool:
        # As when memory ran out.
        return Reproduced(False, (), "its process ended early")


def _joined(*parts: Reproduced) -> Reproduced:
    """The results of several components as one: done if all are."""
    reasons: dict[str, None] = {}
    findings: list[Finding] = []
    for part in parts:
        if not part.done:
            reasons[part.reason] = None
        findings += part.findings
    return Reproduced(not reasons, tuple(findings), "; ".join(reasons))


@dataclass(frozen=True)
class _Component:
    """The world or a benchmark of a dataset."""

    root: Path
    """The folder of the dataset."""
    name: str | None = None
    """Name of the benchmark; None for the world."""

    @property
    def path(self) -> Path:
        """The path of its folder within a dataset."""
        return Path("world") if self.name is None else Path("benchmarks") / self.name

    @property
    def original(self) -> Path:
        """The folder that is compared."""
        return self.root / self.path

    def remade(self, scratch: Path) -> Path:
        """The folder of the component that is made again. Each component has a dataset of its own
        in the scratch folder: a world is written into an empty folder only."""
        return self._scratch_dataset(scratch) / self.path

    def _scratch_dataset(self, scratch: Path) -> Path:
        return scratch / ("world" if self.name is None else f"benchmark {self.name}")

    def reproduce(self, scratch: Path, progress: Progress = SILENT) -> Reproduced:
        """Make the component again and compare its files. If it cannot be made again, its remade
        folder gets copies of its original files, for the cards."""
        remade = self.remade(scratch)
        try:
            reason = self._make(self._scratch_dataset(scratch), progress)
            if reason is None:
                _adopt_encodings(self.original, remade)
                differences = folder_differences(self.original, remade)
                return Reproduced(True, tuple(finding(FAULT, sentence) for sentence in differences))
            _copy_original(self.original, remade)
            return Reproduced(False, (), reason)
        except _FAILURES as error:
            message = error.message if isinstance(error, UserError) else repr(error)
        with suppress(*_FAILURES):
            _copy_original(self.original, remade)
        failure = finding(FAULT, f"{self.original.name} cannot be made again: {message}")
        return Reproduced(True, (failure,))

    def _make(self, target: Path, progress: Progress) -> str | None:
        """Make the component in the folder `target`. Returns the reason why it cannot be made
        again, or None if it was."""
        target.mkdir(parents=True)
        dataset = Dataset.open(self.root)
        if self.name is None:
            return _remake_world(dataset.world, target, progress)
        return _remake_benchmark(
            dataset, dataset.benchmark(self.name), target=target, progress=progress
        )


def _other_maker(manifest: Mapping[str, Any]) -> str | None:
    """Why a component of this manifest cannot be made again; None if this version made it."""
    version = manifest.get("version")
    if version == VERSION:
        return None
    return f"it was made by version {version}, and this is {VERSION}"


# The world


def _remake_world(source: World, target: Path, progress: Progress) -> str | None:
    """Make a world again in the folder `target`. Returns as `_Component._make` does."""
    reason = _other_maker(source.manifest)
    if reason is not None:
        return reason
    request = json.loads(json.dumps(source.manifest["request"]))
    prepared = _prepare_recorded(request, source.scenes.num_rows)
    # In a folder of its own: a world rendered again at another size keeps a plan of the first size,
    # which a new world would refuse.
    plan = write_plan(target.with_name("plan"), prepared.request, prepared.planned)
    scenes = ShardScenes(plan, request.get("shard"))
    size = {name: request[name] for name in ("width", "height")}
    with WorldWriter(target, {**request, **prepared.request, **size}) as writer:
        writer.keep_plan(plan.root / "world")
        records = _render_records(source, scenes, prepared.vocabulary)
        for record in progress.follow(records, "scenes again", total=len(scenes)):
            # The writer packs them; otherwise their digests are enough.
            if "tar_bytes" in request:
                _copy_scene_files(source, record.get("files", {}), writer.folder)
            writer.add(record)
        writer.finish(prepared.vocabulary.text)
    return None


def _prepare_recorded(request: Mapping[str, Any], n_scenes: int) -> Prepared:
    """The job that a world's manifest records, prepared with the recorded vocabulary.

    Raises UserError if it asks for many more scenes than the world has, or for an invalid number of
    objects.
    """
    prepared = Prepared.from_request(request)
    # A forged manifest could ask for millions of scenes and keep this process busy for days.
    n_planned = 0
    for part in prepared.parts:
        if part.counts is not None:
            n_planned += sum(part.counts.values())
    _, n_shards = request.get("shard", (1, 1))
    least, most = prepared.objects
    is_plausible = n_planned <= 1_000 + 10 * n_scenes * n_shards
    if not is_plausible or not 1 <= least <= most <= MOST_OBJECTS:
        raise UserError(
            f"its manifest asks for {n_planned:,} scenes of {least} to {most} objects, but it has "
            f"{n_scenes:,} scenes"
        )
    return prepared


def _render_records(
    world: World, scenes: ShardScenes, vocabulary: Vocabulary
) -> Iterator[dict[str, Any]]:
    """For each planned scene, what the worker that rendered it answered, by its recorded poses.
    Raises UserError if a row of the world does not match the plan."""
    batches = world.batches("scenes", SCENES.names)
    rows = (row for batch in batches for row in batch.to_pylist())
    first_of_pair: Scene | None = None
    for planned, row in zip_longest(scenes, rows):
        if planned is None or row is None or planned.scene_id != row["scene_id"]:
            listed = row and row["scene_id"]
            expected = planned and planned.scene_id
            raise UserError(f"scenes.parquet has the scene {listed} where the plan has {expected}")
        if planned.twin_of is None:
            first_of_pair = None
        if row["scene"] is None:
            yield {
                "scene_id": planned.scene_id,
                "cluster_id": planned.cluster_id,
                "twin_of": planned.twin_of,
                "failed": row["reason"] or "no reason",
            }
            continue
        recorded = Scene.from_json(row["scene"])
        scene = _place_as_recorded(
            planned, recorded, first_of_pair=first_of_pair, vocabulary=vocabulary
        )
        if planned.twin_of is None:
            first_of_pair = scene
        boxes = [(listed["amodal_box"], listed["visible_fraction"]) for listed in row["objects"]]
        yield {
            **scene_row(planned, scene, boxes, vocabulary),
            "files": world.files_of(planned.scene_id),
        }


def _place_as_recorded(
    planned: Planned, recorded: Scene, *, first_of_pair: Scene | None, vocabulary: Vocabulary
) -> Scene:
    """The planned content at the recorded poses.

    A twin is the first scene of its pair with the exchange or the turn applied, and a step follows
    from the first scene of its ladder, so its own record must not decide anything. If that scene
    failed, the record is all that there is of its poses.
    """
    # A scene that follows from the first of its pair or ladder.
    if planned.ladder is not None:
        if first_of_pair is not None:
            return at_step(first_of_pair, planned)
        return as_recorded(recorded, planned)
    if first_of_pair is not None and planned.exchange is not None:
        return exchanged(first_of_pair, planned.exchange)
    if first_of_pair is not None and planned.turn is not None:
        return turned(first_of_pair, planned.turn, vocabulary)

    # A scene by its own record.
    objects = []
    for (category, attributes), pose in zip(planned.objects, recorded.objects, strict=True):
        objects.append(SceneObject(category, attributes, pose.position, pose.heading))
    scene = replace(
        recorded,
        objects=tuple(objects),
        environment=planned.environment,
        yaw=planned.yaw,
        azimuth=planned.azimuth,
    )

    # A twin by its own record, since its first scene failed.
    if planned.twin_of is not None and planned.turn is not None:
        # The recorded camera is turned already.
        twin = turned(scene, planned.turn, vocabulary)
        return replace(twin, camera=recorded.camera)
    if planned.twin_of is None or planned.exchange is None:
        return scene
    # `planned.objects` are those before the exchange, the recorded poses those after it.
    twin_objects = exchanged(scene, planned.exchange).objects
    posed = []
    for twin_object, pose in zip(twin_objects, recorded.objects, strict=True):
        posed.append(replace(twin_object, heading=pose.heading))
    return replace(scene, objects=tuple(posed))


def _copy_scene_files(source: World, paths: Mapping[str, str], folder: Path) -> None:
    """Write the files of a scene into the folder of the new world."""
    for path in paths:
        target = file_in(folder, path)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(source.read(path))


# Benchmarks


def _remake_benchmark(
    dataset: Dataset, source: Benchmark, *, target: Path, progress: Progress
) -> str | None:
    """Make a benchmark again in the folder `target`, over the original world. Returns as
    `_Component._make` does."""
    manifest, world = source.manifest, dataset.world
    if "request" not in manifest:
        return "it was not made by `gen`"
    reason = _other_maker(manifest)
    if reason is not None:
        return reason
    holdout = Holdout.from_dict(source.holdout_block())
    unknown = check_fits(holdout, parse_vocabulary(world.vocabulary_text, "vocabulary.toml"))
    if unknown:
        raise UserError(
            f"holdout.json names {', '.join(unknown)}, which the vocabulary does not have"
        )
    request = replace(TypeAdapter(TextRequest).validate_python(manifest["request"]), strict=False)
    describe_world(
        target,
        world,
        holdout=holdout,
        name=source.name,
        request=request,
        assigned=_assigned_splits(dataset, source),
        with_world=manifest.get("with_world", False),
        progress=progress,
    )
    return None


def _assigned_splits(dataset: Dataset, source: Benchmark) -> Mapping[str, Assigned] | None:
    """The splits for which scenes were made, or that were kept from another benchmark; None if the
    holdout alone decides the splits. The manifest has a digest of them."""
    if source.manifest["request"].get("splits") is None:
        return None
    if source.manifest.get("with_world", False):
        holdouts = dataset.world.manifest["request"]["holdouts"]
        part = holdouts.index(source.holdout_block())
        return StoredPlan(dataset.root).assigned()[part]
    return read_assigned_splits(dataset.root, source)


# Comparing


def _adopt_encodings(original: Path, remade: Path) -> None:
    """Replace each new table by the original file if their rows are equal, and update sums and
    manifest: other versions of pyarrow encode the same rows in other bytes."""
    sums = read_sums(remade)
    for path in remade.glob("*.parquet"):
        other = original / path.name
        if not other.exists() or sha256(other) == sha256(path):
            continue
        if same_rows(other, path):
            copy_files(original, [path.name], remade)
            sums[path.name] = sha256(path)
    manifest = read_json(remade / "manifest.json")
    write_json(remade / "manifest.json", {**manifest, "sums": write_sums(remade, sums)})


def _copy_original(original: Path, remade: Path) -> None:
    """Copy the small files of a component in place of the files that could not be made again."""
    shutil.rmtree(remade, ignore_errors=True)
    remade.mkdir(parents=True)
    listed = [name for name in read_sums(original) if "/" not in name]
    present = [name for name in listed if file_in(original, name).exists()]
    copy_files(original, [*present, SUMS, "manifest.json"], remade)


def _card_findings(
    root: Path, components: Sequence[_Component], scratch: Path
) -> Iterator[Finding]:
    """Differences of dataset.json and the cards, which are about all benchmarks of the dataset."""
    target = scratch / "dataset"
    remade = {component.path: component.remade(scratch) for component in components}
    manifests = root.glob("benchmarks/[!.]*/manifest.json")
    folders = [root / "world", *(manifest.parent for manifest in manifests)]
    try:
        for original in folders:
            path = original.relative_to(root)
            own = target / path
            if (remade.get(path, own) / "manifest.json").exists():
                own.parent.mkdir(parents=True, exist_ok=True)
                remade[path].rename(own)
            else:
                _copy_original(original, own)
            if (original / FLOOR_FILE).exists():  # not made again, but declared in the card
                copy_files(original, [FLOOR_FILE], own)
        write_index(target)
    except _FAILURES as error:
        yield finding(FAULT, f"dataset.json and the cards cannot be made again: {error!r}")
        return
    for name in _CARDS:
        difference = file_difference(root / name, target / name)
        if difference is not None:
            yield finding(FAULT, difference)
