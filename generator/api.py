"""The Python API of `gen plan`, `gen render` and `gen describe`, for notebooks; the commands call
it.

    from generator.api import plan, render, describe
    dataset = render(holdout="3x3", scenes=200, resolution="128x128", out="world")
    benchmark = describe("world", protocols=["binary"], name="binary")

Mistakes raise `generator.base.errors.UserError`, with one sentence that says how to correct them.
The messages that the commands print are logged under the name `generator` at level INFO.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from generator.base.declarations import parse_size
from generator.base.errors import UserError
from generator.base.extras import extras_named
from generator.base.files import read_ids
from generator.base.paths import check_benchmark_name
from generator.base.progress import SILENT, Progress
from generator.base.store import is_url, settle, shown, staging
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
from generator.describe.request import TextRequest, check_exposed, check_request, read_text_preset
from generator.describe.statistics import parse_statistics
from generator.holdout.holdout import Holdout
from generator.holdout.possible import balance_note
from generator.holdout.request import design_of
from generator.language.complexity import parse_complexity, parse_counts
from generator.plan.evaluated import planned_scenes
from generator.plan.job import parse_resolution, plan_world, prepare_world
from generator.plan.plan import count_splits
from generator.plan.power import sentence
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

logger = logging.getLogger(__name__)
_OPEN: Mapping[str, int] = MappingProxyType({})
"""Planned numbers of scenes by split: none, where each benchmark decides the splits."""


def plan(out: str | Path | None = None, **content: Any) -> StoredPlan:
    """Plan a world: what each scene holds, and what training never shows. Takes seconds and needs
    no Blender.

    `out`: the folder to write; by default named after the options. `content`: as `prepare_world`.
    Planning the same
    content again changes nothing. Returns the plan; its `root` is the folder for `render`.
    """
    prepared, name = prepare_world(**content)
    return plan_world(prepared, Path(out or name))


def render(
    planned: str | Path | None = None,
    *,
    out: str | Path | None = None,
    quality: str = "standard",
    device: str = "auto",
    outputs: str | None = None,
    workers: int | None = None,
    farm: str = "local",
    address: str | None = None,
    shard: str | None = None,
    shards: str | None = None,
    exposed_negatives: bool = False,
    progress: Progress = SILENT,
    **content: Any,
) -> Dataset:
    """Render a world and write a benchmark for each holdout. If it was stopped, call it again to
    continue.

    `planned`: a folder made by `plan`; without it, a world is planned from `content` (as
    `prepare_world`). `out`: a
    folder or a URL; by default `planned`, or a folder named after the options. The other arguments
    are options of
    `gen render`: `outputs` is "masks,depth,normals,boxes" or some of these, `shard` "1/4", `shards`
    a size such as
    "256MB". A shard gets no benchmarks; `gen merge` writes them.
    """
    if shard and exposed_negatives:
        raise UserError(
            "--exposed-negatives is about texts and a shard has none; give it to `gen merge`."
        )
    part, tar_bytes = parse_shard(shard), parse_size(shards) if shards else None
    device = find_device(device)
    workers_of = _farm(workers, farm, address, device)
    rendering = Rendering(quality, parse_outputs(outputs), device, part, tar_bytes).request
    stored, root = _planned(planned, out, rendering, content, exposed_negatives)
    work = work_of(stored, rendering)
    _log_work(work, root, device, workers_of, stored.counts())
    log_held_out(stored)
    render_work(work, stored.root, root, workers_of, progress)
    if not shard:
        write_first_benchmarks(root, exposed_negatives, progress)
    return _finished(root, out)


def render_on_slurm(
    planned: str | Path | None = None,
    *,
    out: str | Path | None = None,
    quality: str = "standard",
    device: str = "cpu",
    outputs: str | None = None,
    workers: int = 8,
    jobs: int = 8,
    partition: str | None = None,
    account: str | None = None,
    time: str | None = None,
    memory: str | None = None,
    shards: str | None = None,
    exposed_negatives: bool = False,
    wait: bool = True,
    progress: Progress = SILENT,
    **content: Any,
) -> Dataset | None:
    """Render a world as an array of `jobs` jobs of a Slurm cluster, each with `workers` cores.

    The files equal those of `render`. `partition`, `account`, `time` ("2:00:00") and `memory`
    ("16GB") apply to each
    job. Without `wait`, returns None once the jobs are submitted; call it again to continue. Other
    arguments are as for
    `render`. Every node must have access to the folder.
    """
    with extras_named():
        from generator.base.slurm import slurm_of
        from generator.render.array import Array
    if device == "auto":
        raise UserError(
            f"--device auto looks at this machine, but Slurm's nodes render: give "
            f"{', '.join(DEVICES)}."
        )
    check_device(device)
    tar_bytes = parse_size(shards) if shards else None
    rendering = Rendering(quality, parse_outputs(outputs), device, None, tar_bytes).request
    slurm = slurm_of(workers, int(device != "cpu"), partition, account, time, memory)
    slurm.check()
    stored, root = _planned(planned, out, rendering, content, exposed_negatives)
    work = work_of(stored, rendering)
    _log_work(work, root, device, Farm(jobs * workers), stored.counts())
    array = Array(stored, rendering, root, jobs, slurm)
    if not wait:
        return None
    array.finish(progress)
    write_first_benchmarks(root, exposed_negatives, progress)
    return _finished(root, out)


@dataclass(frozen=True)
class SlurmScript:
    """What `gen render --farm slurm` would submit."""

    script: str
    """The script that sbatch would get."""
    cost: str
    """The number of images, and the estimated time of a job and of all jobs, in a sentence."""


def slurm_script(
    planned: str | Path | None = None,
    *,
    out: str | Path | None = None,
    quality: str = "standard",
    device: str = "cpu",
    outputs: str | None = None,
    workers: int = 8,
    jobs: int = 8,
    partition: str | None = None,
    account: str | None = None,
    time: str | None = None,
    memory: str | None = None,
    **content: Any,
) -> SlurmScript:
    """Return what `render_on_slurm` would submit with these arguments. Needs no Slurm and writes
    nothing.

    Raises UserError for impossible arguments, and for a world that cannot be planned.
    """
    with extras_named():
        from generator.base.slurm import slurm_of
    check_device(device)
    rendering = Rendering(quality, parse_outputs(outputs), device).request
    slurm = slurm_of(workers, int(device != "cpu"), partition, account, time, memory)
    if planned is not None:
        stored = StoredPlan(Path(planned))
        scenes, request, name = len(stored), stored.request, str(planned)
    else:
        prepared, name = prepare_world(**content)
        scenes, request = len(prepared.planned), prepared.request
    root = Path(out or name).resolve()
    n_jobs = min(jobs, scenes)
    core_seconds = scenes * seconds_a_scene({**request, **rendering})
    cost = (
        f"{scenes:,} images on {n_jobs} job{'s' * (n_jobs > 1)} of {workers} "
        f"core{'s' * (workers > 1)}: about {duration(core_seconds / n_jobs / workers)} each, "
        f"{duration(core_seconds)} of one core in all, if nodes are idle and like ours; a job may "
        f"take {duration(60 * slurm.minutes)} before it is requeued."
    )
    if device != "cpu":
        cost = f"{scenes:,} images on {n_jobs} jobs with a GPU each; {device} has not been timed."
    return SlurmScript(slurm.script(root.with_name(f"{root.name}.shards") / "logs", n_jobs), cost)


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

    `out`: a folder or a URL; by default NAME-again-WIDTHxHEIGHT. `resolution`, `quality`,
    `outputs`: None keeps
    the dataset's. Other arguments are as for `render`; without `shards`, images are separate files.
    """
    opened = Dataset.open(source)
    changes = Changes(
        find_device(device),
        parse_resolution(resolution) if resolution else None,
        quality,
        parse_outputs(outputs) if outputs is not None else None,
        parse_size(shards) if shards else None,
    )
    root = _local(out or default_folder(opened, changes))
    work, workers_of = (
        prepare_rerender(opened, changes),
        _farm(workers, farm, address, changes.device),
    )
    _log_work(work, root, changes.device, workers_of)
    rerender(opened, work, root, workers_of, progress)
    return _finished(root, out)


def describe(
    dataset: str | Path, *, name: str | None = None, progress: Progress = SILENT, **texts: Any
) -> Benchmark:
    """Write new texts for a dataset: another benchmark over the same images, holdout and splits.
    Nothing is rendered.

    `dataset`: a folder or a URL. `name`: name of the new benchmark, by default after what is held
    out. `texts`:
    as `describe_texts`. If a benchmark of that name was made by the same request, it is kept.
    """
    root = _local(dataset)
    name, _ = describe_texts(root, name=name, progress=progress, **texts)
    return Dataset.open(root).benchmark(name)


def describe_texts(
    root: Path,
    *,
    benchmark: str | None = None,
    name: str | None = None,
    preset: str | None = None,
    protocols: Sequence[str] | None = None,
    levels: Sequence[str] | None = None,
    complexity: str | None = None,
    counts: str | None = None,
    training: Sequence[str] | None = None,
    negatives: Sequence[str] | None = None,
    positives: Sequence[str] | None = None,
    captions: str | None = None,
    template: str | None = None,
    exposed_negatives: bool = False,
    any_familiarity: bool = False,
    known_words: bool = False,
    without: str | Path | None = None,
    seed: int = 0,
    replace_old: bool = False,
    progress: Progress = SILENT,
) -> tuple[str, BenchmarkSummary]:
    """`describe` for a local folder. Returns the benchmark's name and a summary of what it holds.

    The arguments are the options of `gen describe` and mean the same; None is the default, or the
    value of the preset.
    """
    request, suffix = TextRequest(), "texts"
    if preset is not None:
        stated = read_text_preset(preset)
        settled = {
            "protocol": protocols,
            "level": levels,
            "complexity": complexity,
            "template": template,
        }
        for option, value in settled.items():
            if value is not None:
                raise UserError(
                    f"--preset {preset} sets --{option} itself; leave one of the two out."
                )
        protocols, levels, complexity, template = (
            stated.protocols,
            stated.levels,
            stated.complexity,
            stated.template,
        )
        request, suffix = replace(request, options=stated.options), Path(preset).stem
        any_familiarity = any_familiarity or not stated.equal_familiarity
    asked = {
        "protocols": protocols,
        "levels": levels,
        "complexity": parse_complexity(complexity) if complexity else None,
        "counts": parse_counts(counts) if counts else None,
        "training": training,
        "negatives": negatives,
        "positives": positives,
        "statistics": parse_statistics(captions),
        "template": template,
        "without": read_ids(Path(without)) if without else None,
    }
    given: dict[str, Any] = {
        each: tuple(value) if isinstance(value, list) else value
        for each, value in asked.items()
        if value
    }
    request = replace(
        request,
        **given,
        exposed_negatives=exposed_negatives,
        equal_familiarity=not any_familiarity,
        known_words=known_words,
        seed=seed,
    )
    opened = Dataset.open(root)
    check_request(
        request, parse_vocabulary(opened.world.vocabulary_text, "vocabulary.toml").templates
    )
    kept = choose_benchmark(opened, benchmark)
    holdout = Holdout.from_dict(kept.holdout_block())
    name = (
        check_benchmark_name(name)
        if name is not None
        else f"{design_of(holdout).benchmark_name(holdout)}-{suffix}"
    )
    splits = read_assigned_splits(root, kept)
    done = describe_world(
        root,
        opened.world,
        holdout=holdout,
        name=name,
        request=request,
        assigned=splits,
        progress=progress,
        replace=replace_old,
    )
    if not done.written:
        logger.info(ALREADY_EXISTS.format(name))
    return name, done


def write_first_benchmarks(
    root: Path, exposed_negatives: bool = False, progress: Progress = SILENT
) -> None:
    """Write the benchmark of each holdout of a world that has been rendered or merged."""
    done = write_benchmarks(root, Dataset.open(root).world, exposed_negatives, progress)
    for name, described in done.items():
        counts = ", ".join(f"{split} {n:,}" for split, n in described.scenes.items())
        logger.info(f"{name}: {counts}." if len(done) > 1 else f"Scenes: {counts}.")
        if empty := [split for split, n in described.scenes.items() if not n]:
            logger.info(
                f"With this holdout no scene belongs to {', '.join(empty)} (docs/splits.md)."
            )


def log_held_out(planned: StoredPlan) -> None:
    """Log what each benchmark of a plan holds out, and the precision to expect of each design."""
    holdouts = [Holdout.from_dict(saved) for saved in planned.request["holdouts"]]
    for holdout in holdouts:
        logger.info(f"Held out: {design_of(holdout).summary(holdout)}.")
        if note := balance_note(holdout):
            logger.info(f"Note: {note}")
    vocabulary = parse_vocabulary(planned.request["vocabulary"], "vocabulary.toml")
    for design in planned_scenes(planned, holdouts, vocabulary):
        if len(design):
            logger.info(f"Expect: {sentence(design)}")


def turn_counts(
    holdouts: Sequence[Holdout], vocabulary: Vocabulary, planned: StoredPlan
) -> dict[str, dict[str, int]]:
    """The planned scenes of each split, by benchmark, of holdouts that share all scenes; empty for
    other designs."""
    design = design_of(holdouts[0])
    if not design.shares_scenes:
        return {}
    scenes = list(planned)
    return {
        design.benchmark_name(holdout): count_splits(scenes, design.rule(vocabulary, holdout))
        for holdout in holdouts
    }


def _planned(
    planned: str | Path | None,
    out: str | Path | None,
    rendering: Mapping[str, Any],
    content: Mapping[str, Any],
    exposed_negatives: bool,
) -> tuple[StoredPlan, Path]:
    """Returns the plan to render (made if it is missing) and the folder to render into.
    `rendering`: of a Rendering."""
    if planned is not None and content:
        option = next(iter(content)).replace("_", "-")
        raise UserError(f"{planned} is planned already, so --{option} has no effect; leave it out.")
    part = rendering.get("shard")
    suffix = "-shard-{}-of-{}".format(*part) if part else ""
    if planned is not None:
        stored = StoredPlan(Path(planned))
        if exposed_negatives:
            check_exposed(map(Holdout.from_dict, stored.request["holdouts"]))
        folder = stored.root.resolve()
        return stored, _local(
            out or (folder.with_name(folder.name + suffix) if part else stored.root)
        )
    prepared, name = prepare_world(**content)
    if exposed_negatives:
        check_exposed(prepared.holdouts)
    root = _local(out or f"{name}{suffix}")
    if not is_planned(root, prepared.request):
        check_space(
            root, len(ShardScenes(prepared.planned, part)), {**prepared.request, **rendering}
        )
    return plan_world(prepared, root), root


def _farm(workers: int | None, farm: str, address: str | None, device: str) -> Farm:
    if address and farm == "local":
        raise UserError(f"--address {address} is the address of a Ray cluster; add --farm ray.")
    gpus = find_gpus(device) if farm == "local" else ()
    return Farm(workers or len(gpus) or default_workers(), farm == "ray", address, gpus)


def _log_work(
    work: Work, root: Path, device: str, farm: Farm, planned_for: Mapping[str, int] = _OPEN
) -> None:
    least, most = work.request["objects"]
    each = (
        ""
        if least == most == 2
        else f", {least if least == most else f'{least}..{most}'} objects each"
    )
    workers = f"with {farm.workers} worker{'s' * (farm.workers > 1)}"
    seconds = f"about {duration(work.seconds(farm.workers))} {workers} on an idle machine"
    time = seconds if device == "cpu" else f"on {device}, which has not been timed, {workers}"
    logger.info(
        f"{len(work.scenes):,} images of {work.request['width']}x{work.request['height']} "
        f"({work.request['quality']['name']}{each}) into {shown(root)}, {time}."
    )
    if planned_for:
        logger.info(
            f"Planned for {', '.join(f'{split} {n:,}' for split, n in planned_for.items())}."
        )


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
        settle(root)
        return Dataset.open(out)
    return Dataset.open(root)
