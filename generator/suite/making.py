"""Makes the worlds of a suite: plans, renders, describes and verifies each of them, and records its
digests.

Every world is an ordinary dataset, made by the functions behind `gen plan`, `gen render`,
`gen describe` and `gen verify`. So a stopped run continues where it stopped.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator import api
from generator.base.errors import UserError
from generator.base.files import locked, write_text
from generator.base.paths import check_own_files, file_in
from generator.base.progress import SILENT, Progress
from generator.dataset.writer import check_free, write_index
from generator.describe.request import TextRequest, check_request, read_text_preset
from generator.judge.verify import verify_dataset
from generator.language.complexity import parse_complexity, parse_counts
from generator.plan.options import WorldOptions
from generator.plan.prepare import Prepared, plan_world, prepare
from generator.render.run import duration, seconds_a_scene
from generator.render.shards import merge_worlds
from generator.suite.definition import (
    Suite,
    SuiteTexts,
    SuiteWorld,
    digests_path,
    read_suite,
    suite_names,
    suite_path,
)
from generator.suite.digests import (
    PublishedDigests,
    digest_faults,
    plan_digest,
    read_published,
    world_digests,
)
from generator.suite.forms import STANDARD, check_form, seeds_of
from generator.suite.record import (
    DECLARATION,
    FORMAT,
    SuiteRecord,
    is_suite,
    read_record,
    world_key,
    write_record,
)

logger = logging.getLogger(__name__)

_LOCK = ".lock"
_NOT_OF_PLAN = {"about", "quality", "outputs", "texts", "runs", "parts"}
"""Fields of a world that are no options of `gen plan`."""


@dataclass(frozen=True, kw_only=True)
class Making:
    """A suite to make."""

    declaration: str
    """The text of its TOML file."""
    suite: Suite
    """The worlds to make: those of the part, and of the tracks that were chosen."""
    part: str
    """One of `definition.PARTS`."""
    form: str
    """`standard` or such as `fresh-7`."""
    published: PublishedDigests
    """The published digests of the standard form; none for other forms."""

    @property
    def folder_name(self) -> str:
        """The default name of the folder to write: suite, and part and form unless they are the
        usual ones."""
        words = [self.suite.full_name]
        if self.part != "full":
            words.append(self.part)
        if self.form != STANDARD:
            words.append(self.form)
        return "-".join(words)

    def jobs(self) -> "list[WorldJob]":
        """Prepare all worlds; write nothing.

        Returns:
            The worlds in the order of the declaration.

        Raises:
            UserError: Options or texts of a world are impossible; the message names the world.
        """
        jobs = []
        for track, name, world in self.suite.worlds():
            key = world_key(track, name)
            seeds = seeds_of(self.suite, track, world=name, form=self.form)
            try:
                prepared = prepare(world_options(world, seeds.scenes, seeds.block))
                _check_texts(world, prepared)
            except UserError as error:
                raise UserError(f"{key}: {error.message}") from None
            jobs.append(WorldJob(key, world, prepared, seeds.texts))
        return jobs


@dataclass(frozen=True)
class WorldJob:
    """A world of a suite to make, with its seeds."""

    key: str
    """TRACK/WORLD, which is also its folder within the suite."""
    world: SuiteWorld
    """Its declaration."""
    prepared: Prepared
    """Its checked options."""
    text_seed: int
    """Seed of the texts that it gets besides those that it is rendered with."""

    @property
    def image_count(self) -> int:
        """The number of images."""
        if self.prepared.is_grid:
            return len(self.prepared.planned)
        total = 0
        for part in self.prepared.parts:
            total += sum((part.counts or {}).values())
        return total

    @property
    def core_seconds(self) -> float:
        """The estimated seconds for rendering on one core."""
        request = {
            **self.prepared.request,
            "quality": {"name": self.world.quality},
            "outputs": [name for name in (self.world.outputs or "").split(",") if name],
        }
        return self.image_count * seconds_a_scene(request)


def read_making(
    name: str, *, part: str, form: str = STANDARD, tracks: Sequence[str] = ()
) -> Making:
    """Read what to make.

    Args:
        name: A name of `definition.suite_names`, or the path of a TOML file.
        part: One of `definition.PARTS`.
        form: `standard` or such as `fresh-7`.
        tracks: Names of the tracks to make; empty for all.

    Returns:
        The suite to make.

    Raises:
        UserError: The declaration or its digests have a mistake, or a name is unknown.
    """
    path = suite_path(name)
    # Fresh forms have no published digests.
    published = PublishedDigests()
    if check_form(form) == STANDARD:
        published = read_published(digests_path(path))
    return Making(
        suite=read_suite(name).in_part(part, tracks),
        declaration=path.read_text(encoding="utf-8"),
        part=part,
        form=form,
        published=published,
    )


def world_options(world: SuiteWorld, seed: int, block_seed: int) -> WorldOptions:
    """Collect the options of `gen plan` of a world.

    Args:
        world: The declaration.
        seed: Of the scenes.
        block_seed: Of the groups of held-out combinations.

    Returns:
        The options.
    """
    # Fields have the names of the options, and None leaves an option at its default.
    options = world.model_dump(exclude=_NOT_OF_PLAN, exclude_none=True)
    return WorldOptions(**options, seed=seed, block_seed=block_seed)


def cost_lines(jobs: Sequence[WorldJob], workers: int) -> list[str]:
    """Describe what rendering costs.

    Args:
        jobs: The worlds.
        workers: Number of cores that render.

    Returns:
        A line for each world, and one for all.
    """
    lines = []
    images, seconds = 0, 0.0
    for job in jobs:
        images += job.image_count
        seconds += job.core_seconds
        lines.append(
            f"{job.key}: {job.image_count:,} images of {job.world.resolution} "
            f"({job.world.quality}), {duration(job.core_seconds)} of one core."
        )
    plural = "s" * (workers > 1)
    lines.append(
        f"{images:,} images: about {duration(seconds / workers)} with {workers} core{plural} of "
        f"an idle machine, besides texts and verification."
    )
    return lines


def slurm_scripts(jobs: Sequence[WorldJob], root: Path, farm: Mapping[str, Any]) -> list[str]:
    """Compose what `make_suite` would submit to Slurm. Needs no Slurm and writes nothing.

    Args:
        jobs: The worlds.
        root: The folder to write.
        farm: As of `make_suite`, with `farm="slurm"`.

    Returns:
        The script of each world.

    Raises:
        UserError: An option of jobs is malformed.
    """
    options = {name: value for name, value in farm.items() if name not in ("farm", "wait")}
    scripts = []
    for job in jobs:
        content = vars(job.prepared.options)
        script = api.slurm_script(
            out=root / job.key, quality=job.world.quality, **options, **content
        )
        scripts.append(script.script)
    return scripts


def make_suite(
    making: Making,
    root: Path,
    *,
    farm: Mapping[str, Any],
    verify: bool = True,
    progress: Progress = SILENT,
) -> list[str]:
    """Make a suite, or go on with it. Finished worlds are kept.

    Args:
        making: What to make.
        root: The folder to write.
        farm: Where to render: keyword arguments of `api.render`, or of `api.render_on_slurm` with
            `farm="slurm"`. With `shard`, worlds are only rendered; `merge_suites` finishes them.
        verify: Whether to judge every world, as `gen verify --no-reproduce` does.
        progress: Where progress is reported.

    Returns:
        A sentence for each digest that is not the published one; none if jobs of Slurm are only
        submitted.

    Raises:
        UserError: `root` holds something else, a world cannot be made, the judge finds a fault, or
            a plan is not the published one.
    """
    # All worlds first: a mistake in the last one must not be found after hours of rendering.
    jobs = making.jobs()
    with _open_suite(making, root) as record:
        # A world is in the record once it is finished.
        unfinished = [job for job in jobs if job.key not in record["worlds"]]
        for job in unfinished:
            # Before hours of rendering.
            _plan(making, job, root)
        if farm.get("farm") == "slurm":
            # All jobs first, so that worlds do not wait for one another in the queue.
            for job in unfinished:
                _render(job, root, farm={**farm, "wait": False}, progress=progress)
        if farm.get("wait") is False:
            return []
        for number, job in enumerate(unfinished, 1):
            logger.info(f"{job.key}, world {number} of {len(unfinished)}:")
            is_whole = _render(job, root, farm=farm, progress=progress)
            if is_whole:
                _finish(job, root, record, verify=verify, progress=progress)
        return _faults(making, record)


def merge_suites(
    shards: Sequence[Path], root: Path, *, verify: bool = True, progress: Progress = SILENT
) -> list[str]:
    """Merge the shards of a suite, and finish its worlds.

    Args:
        shards: Folders that `make_suite` wrote with `shard`.
        root: The folder to write.
        verify: As of `make_suite`.
        progress: Where progress is reported.

    Returns:
        As `make_suite`.

    Raises:
        UserError: The shards are not all the shards of one suite; or as `make_suite`.
    """
    making = making_of(shards[0])
    for shard in shards[1:]:
        other = making_of(shard)
        if (other.declaration, other.part, other.form) != (
            making.declaration,
            making.part,
            making.form,
        ):
            raise UserError(
                f"{shard} is a shard of another suite, part or form than {shards[0]}; give the "
                f"shards of one suite."
            )
    with _open_suite(making, root) as record:
        for job in making.jobs():
            # Shards may have been made of some tracks alone.
            is_rendered = (shards[0] / job.key).is_dir()
            if not is_rendered or job.key in record["worlds"]:
                continue
            logger.info(f"{job.key}:")
            merge_worlds([shard / job.key for shard in shards], root / job.key, progress)
            api.write_first_benchmarks(root / job.key, progress=progress)
            write_index(root / job.key)
            _finish(job, root, record, verify=verify, progress=progress)
        return _faults(making, record)


def making_of(root: Path) -> Making:
    """Read what a folder was made of.

    Args:
        root: The folder of a suite, finished or not.

    Returns:
        All worlds of the recorded part and form. Digests are published if a suite that ships with
        the package declares the same part.

    Raises:
        UserError: The folder is not a suite, or is damaged.
    """
    record = read_record(root)
    own_path = file_in(root, DECLARATION)
    suite = read_suite(own_path).in_part(record["part"])
    published = PublishedDigests()
    if record["form"] == STANDARD and suite.full_name in suite_names():
        shipped = read_suite(suite.full_name)
        # The part alone: another part may get a world, and comments may change.
        if shipped.in_part(record["part"]).tracks == suite.tracks:
            published = read_published(digests_path(suite_path(suite.full_name)))
    return Making(
        declaration=own_path.read_text(encoding="utf-8"),
        suite=suite,
        part=record["part"],
        form=check_form(record["form"]),
        published=published,
    )


@contextmanager
def _open_suite(making: Making, root: Path) -> Iterator[SuiteRecord]:
    """Lock the folder of a suite, and begin it if it is empty.

    Args:
        making: What is made.
        root: The folder.

    Returns:
        A context that yields the record, of which `_finish` writes every change.

    Raises:
        UserError: The folder holds something else, or another command writes it.
    """
    check_own_files(root)
    busy = f"Another command is writing {root}; wait for it, or choose another --out."
    with locked(root / _LOCK, busy):
        if is_suite(root):
            record = read_record(root)
            _check_same(making, root, record)
        else:
            check_free(root)
            record = SuiteRecord(
                format=FORMAT,
                suite=making.suite.name,
                version=making.suite.version,
                part=making.part,
                form=making.form,
                worlds={},
            )
            write_text(root / DECLARATION, making.declaration)
            # Last: a folder with a record has its declaration.
            write_record(root, record)
        yield record


def _check_same(making: Making, root: Path, record: SuiteRecord) -> None:
    """Raise UserError if the folder of a suite was begun with something else."""
    requested = {
        "suite": making.suite.name,
        "version": making.suite.version,
        "part": making.part,
        "form": making.form,
    }
    for name, value in requested.items():
        existing = record[name]  # type: ignore[literal-required]
        if existing != value:
            raise UserError(
                f"{root} holds another suite: it has {name} = {existing}, not {value}; choose "
                f"another --out."
            )
    # Of the chosen tracks alone: other tracks may be made into the same folder later.
    declared = read_suite(root / DECLARATION).in_part(making.part, list(making.suite.tracks))
    if declared != making.suite:
        raise UserError(
            f"{root} was begun with another declaration of {making.suite.full_name}; choose "
            f"another --out."
        )


def _plan(making: Making, job: WorldJob, root: Path) -> None:
    """Plan a world. Raises UserError if it cannot be planned, or if its plan is not the published
    one."""
    try:
        plan_world(job.prepared, root / job.key)
    except UserError as error:
        raise UserError(f"{job.key}: {error.message}") from None
    published = making.published.world(making.part, job.key)
    if published is None:
        return
    digest = plan_digest(root / job.key)
    if digest != published.plan:
        raise UserError(
            f"{job.key}: the plan has the digest {digest[:12]}, published is "
            f"{published.plan[:12]}: this version of Jackalope makes another world; take the "
            f"version that the suite was published with."
        )


def _render(job: WorldJob, root: Path, *, farm: Mapping[str, Any], progress: Progress) -> bool:
    """Render the planned world of a job, and write its first benchmarks.

    Args:
        job: The world.
        root: The folder of the suite.
        farm: As of `make_suite`.
        progress: Where progress is reported.

    Returns:
        Whether the world is whole. It is not if only a shard is rendered, or if jobs of Slurm are
        only submitted.
    """
    folder = root / job.key
    options = {
        "out": folder,
        "quality": job.world.quality,
        "outputs": job.world.outputs,
        "progress": progress,
        **farm,
    }
    if farm.get("farm") == "slurm":
        del options["farm"]
        return api.render_on_slurm(folder, **options) is not None
    api.render(folder, **options)
    return "shard" not in farm


def _finish(
    job: WorldJob, root: Path, record: SuiteRecord, *, verify: bool, progress: Progress
) -> None:
    """Write the further texts of a rendered world, judge it, and record its digests."""
    folder = root / job.key
    write_texts(job, folder, progress)
    if verify:
        for name, certificate in verify_dataset(folder, None, progress).items():
            if certificate["status"] == "failed":
                raise UserError(
                    f"{job.key}: {name}: {certificate['sentence']} See `gen verify {folder}`."
                )
    # Last, and written world by world, so that a stopped run goes on with the next one.
    record["worlds"] = {**record["worlds"], job.key: world_digests(folder)}
    write_record(root, record)


def write_texts(job: WorldJob, folder: Path, progress: Progress = SILENT) -> None:
    """Write the texts of a world besides those that it is rendered with.

    Args:
        job: The world.
        folder: Its folder, rendered.
        progress: Where progress is reported.

    Raises:
        UserError: As `api.describe_texts`.
    """
    for texts in job.world.texts:
        api.describe_texts(
            folder,
            name=texts.name,
            preset=texts.preset,
            protocols=texts.protocols or None,
            levels=texts.levels or None,
            complexity=texts.complexity,
            counts=texts.counts,
            template=texts.template,
            any_familiarity=texts.any_familiarity,
            seed=job.text_seed,
            progress=progress,
        )


def _faults(making: Making, record: SuiteRecord) -> list[str]:
    """A sentence for each digest that is not the published one."""
    faults: list[str] = []
    for key, digests in record["worlds"].items():
        published = making.published.world(making.part, key)
        faults += digest_faults(key, digests, published)
    return faults


def _check_texts(world: SuiteWorld, prepared: Prepared) -> None:
    """Check the texts of a world before it is rendered.

    Raises:
        UserError: A name is unknown or a range malformed, or the world has several benchmarks, of
            which no text says which it continues.
    """
    if world.texts and len(prepared.holdouts) > 1:
        raise UserError(
            f"the world has {len(prepared.holdouts)} benchmarks, and texts are for worlds with "
            f"one; leave texts out."
        )
    for texts in world.texts:
        _check_options(texts)
        # The names only: what a world allows is known once it is rendered.
        request = TextRequest(protocols=texts.protocols or None, template=texts.template)
        check_request(request, prepared.vocabulary.templates)


def _check_options(texts: SuiteTexts) -> None:
    """Raise UserError if the preset, the complexity or the counts of texts cannot be read."""
    if texts.preset is not None:
        read_text_preset(texts.preset)
    if texts.complexity is not None:
        parse_complexity(texts.complexity)
    if texts.counts is not None:
        parse_counts(texts.counts)
