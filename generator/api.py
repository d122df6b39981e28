"""The Python API of `gen plan`, `gen render` and `gen describe`, for notebooks; the commands call
it.

    from generator.api import plan, render, describe
    dataset = render(holdout="3x3", scenes=200, resolution="128x128", out="world")
    benchmark = describe("world", protocols=["binary"], name="binary")

Mistakes raise `generator.base.errors.UserError`, with one sentence that says how to correct them.
The messages that the commands print are logged under the name `generator` at level INFO.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from inspect import Parameter, signature
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from generator.base.declarations import parse_size
from generator.base.errors import UserError
from generator.base.extras import extras_named
from generator.base.paths import check_benchmark_name
from generator.base.progress import SILENT, Progress
from generator.base.store import display_name, drop_local_copy, is_url, staging
from generator.dataset.outputs import parse_outputs
from generator.dataset.reader import Benchmark, Dataset
from generator.dataset.writer import write_index
from generator.describe.benchmark import (
    ALREADY_EXISTS,
    BenchmarkSummary,
    choose_benchmark,
    describe_world,
    read_assigned_splits,
    write_benchmarks,
)
from generator.describe.options import TextOptions, text_request
from generator.describe.request import LADDER_TEXTS, check_exposed, check_request
from generator.holdout.holdout import Holdout
from generator.holdout.possible import balance_note
from generator.holdout.request import design_of
from generator.plan.evaluated import planned_scenes
from generator.plan.ladder import STEPS, LadderRequest
from generator.plan.options import WorldOptions
from generator.plan.plan import count_splits
from generator.plan.power import sentence
from generator.plan.prepare import Prepared, parse_resolution, plan_world, prepare, prepare_ladder
from generator.plan.store import StoredPlan, is_planned
from generator.render.farm import Farm, default_workers
from generator.render.rerender import Changes, default_folder, prepare_rerender, rerender
from generator.render.run import (
    Rendering,
    Work,
    check_space,
    duration,
    render_work,
    seconds_a_scene,
    work_of,
)
from generator.render.settings import DEVICES, check_device, find_device, find_gpus
from generator.render.shards import ShardScenes, parse_shard
from generator.vocabulary.schema import Vocabulary, parse_vocabulary

if TYPE_CHECKING:
    from generator.base.slurm import Slurm

logger = logging.getLogger(__name__)

_SPLITS_OPEN: Mapping[str, int] = MappingProxyType({})
"""Planned numbers of scenes by split: none, where each benchmark decides the splits."""

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Options = TypeVar("_Options")


@dataclass(frozen=True, kw_only=True)
class RenderOptions:
    """The options that `render`, `render_on_slurm` and `slurm_script` share."""

    out: str | Path | None = None
    """A folder or a URL; None: the planned folder, or a folder named after the options."""
    quality: str = "standard"
    """draft, standard or reference (docs/engines.md)."""
    device: str | None = None
    """cpu, optix, cuda, hip, metal, oneapi, or auto: a GPU if there is one. None: auto on this
    machine, cpu on Slurm, whose nodes cannot be looked at from here."""
    outputs: str | None = None
    """What to write beside the images: "masks,depth,normals,boxes", or some of these."""
    shards: str | None = None
    """The largest size of a tar into which the files of scenes are packed, such as "256MB"; None:
    separate files."""
    exposed_negatives: bool = False
    """Whether training negatives may name held-out bindings."""


@dataclass(frozen=True, kw_only=True)
class SlurmOptions:
    """The resources of an array of jobs on a Slurm cluster."""

    workers: int = 8
    """Cores of each job."""
    jobs: int = 8
    """Number of jobs."""
    partition: str | None = None
    """The partition of the cluster; None: the cluster's default."""
    account: str | None = None
    """The account that pays; None: the user's default."""
    time: str | None = None
    """The time limit of a job, such as "2:00:00"."""
    memory: str | None = None
    """The memory of a job, such as "16GB"."""


def _shows_options_of(*option_classes: type) -> Callable[[_Function], _Function]:
    """Decorator: `help()` and notebooks show the fields of these dataclasses as keyword parameters,
    in place of the function's `**options`."""

    def decorate(function: _Function) -> _Function:
        plain = signature(function)
        parameters = [
            parameter
            for parameter in plain.parameters.values()
            if parameter.kind is not Parameter.VAR_KEYWORD
        ]
        for option_class in option_classes:
            for option in fields(option_class):
                default = Parameter.empty if option.default is MISSING else option.default
                parameters.append(
                    Parameter(
                        option.name,
                        Parameter.KEYWORD_ONLY,
                        default=default,
                        annotation=option.type,
                    )
                )
        # `help()` and notebooks read this attribute before the code's own parameters.
        function.__signature__ = plain.replace(parameters=parameters)  # type: ignore[attr-defined]
        return function

    return decorate


def _take(options: dict[str, Any], option_class: type[_Options]) -> _Options:
    """Remove from `options` those of a dataclass, and return them as one."""
    # What no class takes is left, and refused where it would have no effect.
    names = [field.name for field in fields(option_class)]  # type: ignore[arg-type]
    return option_class(**{name: options.pop(name) for name in names if name in options})


@_shows_options_of(WorldOptions)
def plan(out: str | Path | None = None, **options: Any) -> StoredPlan:
    """Plan a world: what each scene holds, and what training never shows. Takes seconds and needs
    no Blender.

    Planning the same options again changes nothing.

    Args:
        out: the folder to write; by default named after the options.
        **options: the options of `gen plan`, which are the fields of
            `generator.plan.options.WorldOptions`.

    Returns:
        The plan; its `root` is the folder for `render`.

    Raises:
        UserError: options are impossible, or the folder holds something else.
    """
    prepared = prepare(WorldOptions(**options))
    return plan_world(prepared, Path(out or prepared.folder_name))


@_shows_options_of(RenderOptions, WorldOptions)
def render(
    planned: str | Path | None = None,
    *,
    workers: int | None = None,
    farm: str = "local",
    address: str | None = None,
    shard: str | None = None,
    progress: Progress = SILENT,
    **options: Any,
) -> Dataset:
    """Render a world and write a benchmark for each holdout. If it was stopped, call it again to
    continue.

    Args:
        planned: a folder made by `plan`. Without it, a world is planned from the options.
        workers: number of render processes; by default one per GPU, or per core.
        farm: where workers run: "local" (this machine) or "ray" (a Ray cluster).
        address: of the Ray cluster, such as "10.0.0.1:6379" or "auto"; by default one is started.
        shard: the part of the scenes to render, such as "1/4". A shard gets no benchmarks; `gen
            merge` writes them.
        progress: where progress is reported.
        **options: the fields of `RenderOptions`; without `planned`, also those of
            `generator.plan.options.WorldOptions`.

    Returns:
        The dataset.

    Raises:
        UserError: options are impossible, the disk has no room, or rendering failed.
    """
    render_options = _take(options, RenderOptions)
    # An option without effect would look as if it had one.
    if shard and render_options.exposed_negatives:
        raise UserError(
            "--exposed-negatives is about texts and a shard has none; give it to `gen merge`."
        )
    # What may be refused comes before anything is written.
    part = parse_shard(shard)
    device = find_device(render_options.device or "auto")
    rendering = _rendering(render_options, device, part)
    worker_farm = _farm(workers, farm, address=address, device=device)
    stored, root = _stored_plan(planned, render_options, rendering=rendering, content=options)
    work = work_of(stored, rendering)
    _log_work(work, root, device=device, farm=worker_farm, planned_for=stored.counts())
    log_held_out(stored)
    render_work(work, stored.root, root=root, farm=worker_farm, progress=progress)
    if not shard:
        write_first_benchmarks(root, render_options.exposed_negatives, progress)
    return _finished(root, render_options.out)


def ladder(
    factor: str,
    *,
    steps: int = STEPS,
    family: str | None = None,
    scenes: int | str = 100,
    resolution: str = "320x240",
    environments: Sequence[str] = (),
    seed: int = 0,
    out: str | Path | None = None,
    quality: str = "standard",
    device: str | None = None,
    workers: int | None = None,
    progress: Progress = SILENT,
) -> Dataset:
    """Render a world of ladders: the same scenes in several steps of one factor, with a benchmark
    that asks the same question at every step (docs/ladders.md).

    If it was stopped, call it again to continue.

    Args:
        factor: distractors, interference, size, occlusion, contrast or caption-length.
        steps: number of steps.
        family: of the world; by default clevr, or clevr-many if scenes have distractors.
        scenes: number of scenes of each step, an even number. Half of them are the other half with
            the values of two objects exchanged.
        resolution: such as "320x240".
        environments: the only environments of the scenes; by default all of the family.
        seed: of the scenes.
        out: a folder or a URL; by default named after the options.
        quality: as in `RenderOptions`.
        device: as in `RenderOptions`.
        workers: as of `render`.
        progress: where progress is reported.

    Returns:
        The dataset. Its benchmark is named ladder-FACTOR.

    Raises:
        UserError: options are impossible, the disk has no room, or rendering failed.
    """
    request = LadderRequest(factor, steps)
    options = WorldOptions(
        family=family or _ladder_family(request),
        scenes=str(scenes),
        resolution=resolution,
        environments=tuple(environments),
        seed=seed,
    )
    prepared = prepare_ladder(options, request)
    rendering = Rendering(quality, (), find_device(device or "auto"))
    root = _local(out or prepared.folder_name)
    farm = _farm(workers, "local", address=None, device=rendering.device)
    _write_ladder(
        prepared, root, name=f"ladder-{factor}", rendering=rendering, farm=farm, progress=progress
    )
    return _finished(root, out)


def _ladder_family(request: LadderRequest) -> str:
    """The default family: scenes with distractors need one that allows many objects."""
    return "clevr-many" if request.n_distractors else "clevr"


def _write_ladder(
    prepared: Prepared,
    root: Path,
    *,
    name: str,
    rendering: Rendering,
    farm: Farm,
    progress: Progress,
) -> None:
    """Plan, render and describe a world of ladders on this machine.

    Args:
        prepared: the prepared world.
        root: its folder.
        name: of the benchmark.
        rendering: of its images.
        farm: what renders them.
        progress: where progress is reported.
    """
    # Before the plan is written: it is refused where Blender is missing.
    request = rendering.request
    work = work_of(plan_world(prepared, root), request)
    _log_work(work, root, device=rendering.device, farm=farm)
    render_work(work, root, root=root, farm=farm, progress=progress)
    describe_world(
        root,
        Dataset.open(root).world,
        holdout=prepared.holdout,
        name=name,
        request=LADDER_TEXTS,
        progress=progress,
    )


@_shows_options_of(RenderOptions, SlurmOptions, WorldOptions)
def render_on_slurm(
    planned: str | Path | None = None,
    *,
    wait: bool = True,
    progress: Progress = SILENT,
    **options: Any,
) -> Dataset | None:
    """Render a world as an array of jobs of a Slurm cluster. The files equal those of `render`.

    Every node must have access to the folder.

    Args:
        planned: a folder made by `plan`. Without it, a world is planned from the options.
        wait: whether to wait for the jobs and to merge their scenes. Otherwise call this again to
            continue.
        progress: where progress is reported.
        **options: the fields of `RenderOptions` and `SlurmOptions`; without `planned`, also those
            of `generator.plan.options.WorldOptions`.

    Returns:
        The dataset; None without `wait`, once the jobs are submitted.

    Raises:
        UserError: options are impossible, Slurm is missing, or jobs failed.
    """
    with extras_named():
        from generator.render.array import Array
    render_options = _take(options, RenderOptions)
    slurm_options = _take(options, SlurmOptions)
    device = render_options.device or "cpu"
    if device == "auto":
        raise UserError(
            f"--device auto looks at this machine, but Slurm's nodes render: give "
            f"{', '.join(DEVICES)}."
        )
    check_device(device)
    rendering = _rendering(render_options, device)
    slurm = _slurm(slurm_options, device)
    # Before a world is planned: without sbatch nothing can be submitted.
    slurm.check()
    stored, root = _stored_plan(planned, render_options, rendering=rendering, content=options)
    work = work_of(stored, rendering)
    cores = slurm_options.jobs * slurm_options.workers
    _log_work(work, root, device=device, farm=Farm(cores), planned_for=stored.counts())
    array = Array(stored, rendering, root=root, jobs=slurm_options.jobs, slurm=slurm)
    if not wait:
        return None
    array.finish(progress)
    write_first_benchmarks(root, render_options.exposed_negatives, progress)
    return _finished(root, render_options.out)


@dataclass(frozen=True)
class SlurmScript:
    """What `gen render --farm slurm` would submit."""

    script: str
    """The script that sbatch would get."""
    cost: str
    """The number of images, and the estimated time of a job and of all jobs, in a sentence."""


@_shows_options_of(RenderOptions, SlurmOptions, WorldOptions)
def slurm_script(planned: str | Path | None = None, **options: Any) -> SlurmScript:
    """Return what `render_on_slurm` would submit with these arguments. Needs no Slurm and writes
    nothing.

    Args:
        planned: a folder made by `plan`. Without it, a world is planned from the options.
        **options: as of `render_on_slurm`.

    Returns:
        The script and its cost.

    Raises:
        UserError: options are impossible, or the world cannot be planned.
    """
    render_options = _take(options, RenderOptions)
    slurm_options = _take(options, SlurmOptions)
    device = render_options.device or "cpu"
    check_device(device)
    rendering = _rendering(render_options, device)
    slurm = _slurm(slurm_options, device)
    if planned is not None:
        stored = StoredPlan(Path(planned))
        n_scenes, request, name = len(stored), stored.request, str(planned)
    else:
        prepared = prepare(WorldOptions(**options))
        n_scenes, request, name = len(prepared.planned), prepared.request, prepared.folder_name
    root = Path(render_options.out or name).resolve()
    workers, n_jobs = slurm_options.workers, min(slurm_options.jobs, n_scenes)
    if device == "cpu":
        core_seconds = n_scenes * seconds_a_scene({**request, **rendering})
        cost = (
            f"{n_scenes:,} images on {n_jobs} job{'s' * (n_jobs > 1)} of {workers} "
            f"core{'s' * (workers > 1)}: about {duration(core_seconds / n_jobs / workers)} each, "
            f"{duration(core_seconds)} of one core in all, if nodes are idle and like ours; a job "
            f"may take {duration(60 * slurm.minutes)} before it is requeued."
        )
    else:
        cost = f"{n_scenes:,} images on {n_jobs} jobs with a GPU each; {device} has not been timed."
    # The folder that `Array` uses, so that the script is the one that would be submitted.
    logs = root.with_name(f"{root.name}.shards") / "logs"
    return SlurmScript(slurm.script(logs, n_jobs), cost)


def render_again(
    source: str | Path,
    *,
    out: str | Path | None = None,
    resolution: str | None = None,
    quality: str | None = None,
    device: str = "auto",
    outputs: str | None = None,
    workers: int | None = None,
    farm: str = "local",
    address: str | None = None,
    shards: str | None = None,
    progress: Progress = SILENT,
) -> Dataset:
    """Render the recorded scenes of a dataset again and copy its benchmarks.

    Args:
        source: the dataset, a folder or a URL.
        out: a folder or a URL; by default NAME-again-WIDTHxHEIGHT.
        resolution: such as "320x240"; None keeps the dataset's.
        quality: draft, standard or reference; None keeps the dataset's.
        device: as in `RenderOptions`.
        outputs: as in `RenderOptions`; None keeps the dataset's.
        workers: as of `render`.
        farm: as of `render`.
        address: as of `render`.
        shards: as in `RenderOptions`; without it, images are separate files.
        progress: where progress is reported.

    Returns:
        The new dataset.

    Raises:
        UserError: options are impossible, the disk has no room, or rendering failed.
    """
    opened = Dataset.open(source)
    changes = Changes(
        device=find_device(device),
        size=parse_resolution(resolution) if resolution else None,
        quality=quality,
        outputs=parse_outputs(outputs) if outputs is not None else None,
        tar_bytes=parse_size(shards) if shards else None,
    )
    root = _local(out or default_folder(opened, changes))
    work = prepare_rerender(opened, changes)
    worker_farm = _farm(workers, farm, address=address, device=changes.device)
    _log_work(work, root, device=changes.device, farm=worker_farm)
    rerender(opened, work, root=root, farm=worker_farm, progress=progress)
    return _finished(root, out)


@_shows_options_of(TextOptions)
def describe(
    dataset: str | Path,
    *,
    name: str | None = None,
    benchmark: str | None = None,
    replace_old: bool = False,
    progress: Progress = SILENT,
    **options: Any,
) -> Benchmark:
    """Write new texts for a dataset: another benchmark over the same images, holdout and splits.
    Nothing is rendered.

    Args:
        dataset: a folder or a URL.
        name: as of `describe_texts`.
        benchmark: as of `describe_texts`.
        replace_old: as of `describe_texts`.
        progress: where progress is reported.
        **options: the fields of `generator.describe.options.TextOptions`.

    Returns:
        The benchmark.

    Raises:
        UserError: the request is impossible, or another benchmark has that name.
    """
    root = _local(dataset)
    name, _ = describe_texts(
        root,
        name=name,
        benchmark=benchmark,
        replace_old=replace_old,
        progress=progress,
        **options,
    )
    return Dataset.open(root).benchmark(name)


@_shows_options_of(TextOptions)
def describe_texts(
    root: Path,
    *,
    name: str | None = None,
    benchmark: str | None = None,
    replace_old: bool = False,
    progress: Progress = SILENT,
    **options: Any,
) -> tuple[str, BenchmarkSummary]:
    """`describe` for a local folder, with a summary.

    Args:
        root: the dataset's folder.
        name: of the new benchmark; by default after what is held out. If a benchmark of that name
            was made by the same request, it is kept.
        benchmark: whose holdout and splits to keep, if the dataset has several benchmarks.
        replace_old: whether to replace a benchmark of that name, and to remove its certificate.
        progress: where progress is reported.
        **options: the fields of `generator.describe.options.TextOptions`.

    Returns:
        The benchmark's name, and a summary of what it holds.

    Raises:
        UserError: the request is impossible, or another benchmark has that name.
    """
    text_options = TextOptions(**options)
    request = text_request(text_options)
    opened = Dataset.open(root)
    vocabulary = parse_vocabulary(opened.world.vocabulary_text, "vocabulary.toml")
    check_request(request, vocabulary.templates)

    old_benchmark = choose_benchmark(opened, benchmark)
    holdout = Holdout.from_dict(old_benchmark.holdout_block())
    # The same default for the same request, so that a second call finds its benchmark again.
    if name is None:
        name = f"{design_of(holdout).benchmark_name(holdout)}-{text_options.default_suffix}"
    else:
        name = check_benchmark_name(name)
    summary = describe_world(
        root,
        opened.world,
        holdout=holdout,
        name=name,
        request=request,
        assigned=read_assigned_splits(root, old_benchmark),
        progress=progress,
        replace=replace_old,
    )
    if not summary.written:
        logger.info(ALREADY_EXISTS.format(name))
    return name, summary


def write_first_benchmarks(
    root: Path, exposed_negatives: bool = False, progress: Progress = SILENT
) -> None:
    """Write the benchmark of each holdout of a world that has been rendered or merged.

    Args:
        root: the dataset's folder.
        exposed_negatives: whether training negatives may name held-out bindings.
        progress: where progress is reported.

    Raises:
        UserError: a benchmark cannot be written.
    """
    summaries = write_benchmarks(
        root, Dataset.open(root).world, exposed_negatives=exposed_negatives, progress=progress
    )
    for name, summary in summaries.items():
        counts = ", ".join(f"{split} {n:,}" for split, n in summary.scenes.items())
        logger.info(f"{name}: {counts}." if len(summaries) > 1 else f"Scenes: {counts}.")
        empty = [split for split, n in summary.scenes.items() if not n]
        if empty:
            logger.info(
                f"With this holdout no scene belongs to {', '.join(empty)} (docs/splits.md)."
            )


def log_held_out(planned: StoredPlan) -> None:
    """Log what each benchmark of a plan holds out, and the precision to expect of each design."""
    holdouts = [Holdout.from_dict(recorded) for recorded in planned.request["holdouts"]]
    for holdout in holdouts:
        logger.info(f"Held out: {design_of(holdout).summary(holdout)}.")
        note = balance_note(holdout)
        if note:
            logger.info(f"Note: {note}")
    vocabulary = parse_vocabulary(planned.request["vocabulary"], "vocabulary.toml")
    for design in planned_scenes(planned, holdouts, vocabulary):
        if len(design):
            logger.info(f"Expect: {sentence(design)}")


def turn_counts(
    holdouts: Sequence[Holdout], vocabulary: Vocabulary, planned: StoredPlan
) -> dict[str, dict[str, int]]:
    """The planned scenes of each split, by benchmark, of holdouts that share all scenes.

    Args:
        holdouts: of the world.
        vocabulary: of the world.
        planned: its plan.

    Returns:
        Numbers of scenes by benchmark and split; empty for designs that do not share scenes.
    """
    # One design draws all holdouts of a world.
    design = design_of(holdouts[0])
    if not design.shares_scenes:
        return {}
    scenes = list(planned)
    return {
        design.benchmark_name(holdout): count_splits(scenes, design.rule(vocabulary, holdout))
        for holdout in holdouts
    }


def _rendering(
    options: RenderOptions, device: str, part: tuple[int, int] | None = None
) -> dict[str, Any]:
    """The request of a rendering on a device; `part`: of a shard."""
    tar_bytes = parse_size(options.shards) if options.shards else None
    outputs = parse_outputs(options.outputs)
    return Rendering(options.quality, outputs, device, part, tar_bytes).request


def _slurm(options: SlurmOptions, device: str) -> "Slurm":
    with extras_named():
        from generator.base.slurm import slurm_of
    return slurm_of(
        cores=options.workers,
        gpus=int(device != "cpu"),
        partition=options.partition,
        account=options.account,
        time=options.time,
        memory=options.memory,
    )


def _stored_plan(
    planned: str | Path | None,
    options: RenderOptions,
    *,
    rendering: Mapping[str, Any],
    content: Mapping[str, Any],
) -> tuple[StoredPlan, Path]:
    """The plan to render, and the folder to render into.

    Args:
        planned: the folder of a plan, or None to plan a world.
        options: of the rendering.
        rendering: the request of the rendering.
        content: the options of the world to plan; there must be none if it is planned.
    """
    part = rendering.get("shard")
    suffix = "-shard-{}-of-{}".format(*part) if part else ""
    if planned is not None:
        # A plan says what its scenes hold; an option beside it would have no effect.
        if content:
            option = next(iter(content)).replace("_", "-")
            raise UserError(
                f"{planned} is planned already, so --{option} has no effect; leave it out."
            )
        stored = StoredPlan(Path(planned))
        if options.exposed_negatives:
            check_exposed(map(Holdout.from_dict, stored.request["holdouts"]))
        folder = stored.root.resolve()
        default_root = folder.with_name(folder.name + suffix) if part else stored.root
        return stored, _local(options.out or default_root)

    prepared = prepare(WorldOptions(**content))
    if options.exposed_negatives:
        check_exposed(prepared.holdouts)
    root = _local(options.out or f"{prepared.folder_name}{suffix}")
    if not is_planned(root, prepared.request):
        # Before the plan is written, so that a full disk keeps nothing.
        n_scenes = len(ShardScenes(prepared.planned, part))
        check_space(root, n_scenes, {**prepared.request, **rendering})
    return plan_world(prepared, root), root


def check_address(farm: str, address: str | None) -> None:
    """Check that only a Ray cluster has an address.

    Args:
        farm: Where workers run: local, ray or slurm.
        address: The address; None for none.

    Raises:
        UserError: There is an address, and workers run on this machine.
    """
    if address and farm == "local":
        raise UserError(f"--address {address} is the address of a Ray cluster; add --farm ray.")


def _farm(workers: int | None, farm: str, *, address: str | None, device: str) -> Farm:
    check_address(farm, address)
    # Only of this machine: the nodes of a cluster cannot be looked at from here.
    gpus = find_gpus(device) if farm == "local" else ()
    return Farm(workers or len(gpus) or default_workers(), farm == "ray", address, gpus)


def _log_work(
    work: Work,
    root: Path,
    *,
    device: str,
    farm: Farm,
    planned_for: Mapping[str, int] = _SPLITS_OPEN,
) -> None:
    """Log how many images are rendered, where, and how long it may take."""
    least, most = work.request["objects"]
    objects = ""
    if (least, most) != (2, 2):
        numbers = str(least) if least == most else f"{least}..{most}"
        objects = f", {numbers} objects each"
    workers = f"with {farm.workers} worker{'s' * (farm.workers > 1)}"
    time = f"on {device}, which has not been timed, {workers}"
    # Only processors were timed (docs/engines.md).
    if device == "cpu":
        time = f"about {duration(work.seconds(farm.workers))} {workers} on an idle machine"
    logger.info(
        f"{len(work.scenes):,} images of {work.request['width']}x{work.request['height']} "
        f"({work.request['quality']['name']}{objects}) into {display_name(root)}, {time}."
    )
    if planned_for:
        counts = ", ".join(f"{split} {n:,}" for split, n in planned_for.items())
        logger.info(f"Planned for {counts}.")


def _local(place: str | Path) -> Path:
    """The folder `place`, or the local folder of a URL."""
    return staging(place) if isinstance(place, str) and is_url(place) else Path(place)


def _finished(root: Path, out: str | Path | None) -> Dataset:
    """Write the index and return the dataset; for a URL, remove the local folder, whose files are
    now at the URL.

    An earlier run may have been stopped just before the index or the copying.
    """
    write_index(root)
    if isinstance(out, str) and is_url(out):
        drop_local_copy(root)
        return Dataset.open(out)
    return Dataset.open(root)
