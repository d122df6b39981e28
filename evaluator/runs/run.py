"""Make a run: score one model on one benchmark in a folder, and measure it.

A run in words (ask.py) is prepared, started and finished by the same functions.
"""

import logging
import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evaluator.benchmarks.reading import READING
from evaluator.benchmarks.registry import write_questions
from evaluator.models.contracts import Answerer, Model, PairScorer
from evaluator.models.oracle import Oracle
from evaluator.models.python import check_device, from_memory
from evaluator.models.registry import load_model
from evaluator.protocols import find_protocol, protocol_names
from evaluator.protocols.pools import has_item_pools
from evaluator.protocols.records import Results, RunRecord
from evaluator.provenance.certificate import verified_now
from evaluator.provenance.contamination import CONTAMINATED, training_of
from evaluator.runs.dataset import Dataset
from evaluator.runs.folder import IDENTITY_FILE
from evaluator.runs.lock import locked_run
from evaluator.runs.measure import measure_locked
from evaluator.runs.parts import (
    Splits,
    describe_limit,
    items_in_splits,
    limit_items,
    read_splits,
    record_limit,
    write_splits,
)
from evaluator.runs.request import Request, names
from evaluator.runs.rules import check_level
from evaluator.runs.summary import unknown_protocols
from evaluator.scoring.batches import Settings
from evaluator.scoring.dual import CHANNEL
from evaluator.scoring.needs import (
    LIMIT,
    Needs,
    collect_needs,
    text_groups,
    within_limit,
    without_pools,
    words,
)
from evaluator.scoring.score import describe_cost, describe_limits, score, settings_for
from evaluator.scoring.store import Process, remove_parts
from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_json, write_json
from generator.base.paths import check_own_files
from generator.base.progress import SILENT, Progress
from generator.dataset.certificate import describe_certificate
from generator.dataset.questions import VIEWS
from generator.dataset.reader import Benchmark
from generator.dataset.records import BENCHMARK_TABLES

logger = logging.getLogger(__name__)
_PACKAGES = (
    "jackalope",
    "torch",
    "open_clip_torch",
    "transformers",
    "diffusers",
    "numpy",
    "pillow",
)
"""The packages whose versions a run records, since scores depend on them."""
CACHE = ".cache"
"""Folder in a run's folder for the cache of a model that is not reusable."""
_IN_WORDS = "its questions about two images are asked in words"
_FITTED = (
    "a model that is fitted on the texts of the run would know from them which texts of a pool are "
    "asked about"
)


@dataclass(frozen=True, kw_only=True)
class PreparedRun:
    """The checked request of a run."""

    dataset: Dataset
    """The dataset that is opened."""
    whole: Benchmark
    """Its benchmark in the splits to score."""
    benchmark: Benchmark
    """The items of `whole` within the limit."""
    protocols: tuple[str, ...]
    """The protocols to score."""
    splits: Splits | None
    """Partitions that replace the benchmark's splits; None for its own."""
    level: float
    """Level of the intervals, 0.5..0.999."""
    certificate: str
    """Status of the benchmark's certificate, in words."""
    identity: dict[str, Any]
    """What distinguishes the run from others: entries of run.json."""


@dataclass(frozen=True)
class _Questions:
    """What a model is asked."""

    protocols: tuple[str, ...]
    """The protocols that the model can be asked."""
    needs: Needs
    """The scores that they need."""
    not_asked: dict[str, str]
    """By part of the request that is left out, the reason."""


def run(request: Request, out: Path, progress: Progress = SILENT) -> Results | None:
    """Score a model, and measure the run.

    The folder is locked until the end (evaluator.runs.lock). Each of several processes (torchrun,
    accelerate launch) scores its share.

    Args:
        request: What to score, and how.
        out: The folder of the run.
        progress: Shows the progress of scoring.

    Returns:
        The results; None in processes other than the first.

    Raises:
        UserError: The request cannot be met, or the dataset changed meanwhile.
    """
    process = Process.from_environment()
    with locked_run(out, process.is_main):
        return _run(request, out, process=process, progress=progress)


def _run(request: Request, out: Path, *, process: Process, progress: Progress) -> Results | None:
    # The dataset, then the model: a wrong path is told before weights are loaded.
    is_main = process.is_main
    prepared = prepare_run(request, out, is_main=is_main)
    benchmark, world = prepared.benchmark, prepared.dataset.world
    model, cache = _open_model(request, out)
    channels = list(model.channels) if isinstance(model, PairScorer) else [CHANNEL]
    if request.channel not in (None, *channels):
        raise UserError(
            f"The model has no channel '{request.channel}': "
            f"{did_you_mean(str(request.channel), channels)}"
        )
    if isinstance(model, Oracle):
        model.open(benchmark, world)
    # What it is asked, and whether it may be.
    questions = _choose_questions(model, prepared, request)
    needs = questions.needs
    training = check_training(model, prepared, images=needs.images.to_pylist(), request=request)
    if model.fits_texts:
        texts = words(benchmark, needs.texts).to_pylist()
        model.fit_texts(texts, text_groups(needs, benchmark))

    settings = settings_for(
        model, request.batch_size, precision=request.precision, workers=request.workers
    )
    settings = replace(settings, progress=progress if is_main else SILENT)
    info = {**model.info, "precision": _precision(model.info.get("precision"), settings.precision)}
    if is_main:
        cost = f"{describe_cost(model, needs)} Dataset certificate: {prepared.certificate}."
        limits = describe_limits(needs)
        announce(info, cost, training=training, not_asked=questions.not_asked)
        for line in limits:
            logger.info(line)
    # All checks have passed: from here, a command that is stopped can be resumed.
    start_run(prepared, out, is_main=is_main)
    indistinct_texts = score(
        model,
        world,
        benchmark=benchmark,
        needs=needs,
        out=out,
        cache_folder=cache,
        settings=settings,
        process=process,
    )
    if not is_main:
        return None
    record = {
        **_scoring_record(model, questions, settings=settings, channel=request.channel),
        "training": training,
        "info": info,
        "indistinct_texts": indistinct_texts,
        "processes": process.count,
        "counts": log_counts(model),
    }
    finish_run(prepared, out, record=record, cache=cache)
    return measure_locked(out)


def _scoring_record(
    model: Model, questions: _Questions, *, settings: Settings, channel: str | None
) -> dict[str, Any]:
    """What was scored, and how: entries of run.json. channel: the requested one; None for the
    model's own."""
    needs = questions.needs
    batch, channels, image_channel = settings.batch, [CHANNEL], None
    if isinstance(model, PairScorer):
        batch = model.batch.size
        channels = list(model.channels)
        image_channel = model.image_channel
    return {
        "protocols": list(questions.protocols),
        "batch": batch,
        "precision": settings.precision,
        "channels": channels,
        "channel": channel or channels[0],
        "image_channel": channel or image_channel,
        "raw_retrieval": list(needs.folds),
        "left_out": list(needs.left_out),
        "not_asked": questions.not_asked,
        "sampled_pools": needs.sampled,
        "tie_tolerance": model.tie_tolerance,
    }


def prepare_run(
    request: Request, out: Path, *, is_main: bool = True, question: str | None = None
) -> PreparedRun:
    """Check the request of a run, and open its dataset.

    Args:
        request: What to score, and how.
        out: The folder of the run.
        is_main: Whether this process writes the run's results. Only that one judges the dataset.
        question: How a run in words asks; None for other runs.

    Returns:
        The checked request.

    Raises:
        UserError: The request cannot be met, or the folder holds anything else.
    """
    level = check_level(request.level)
    within = names(request.within)
    requested_protocols = names(request.protocols)
    model_name = request.model_name
    dataset = request.dataset
    if not isinstance(dataset, Dataset):
        dataset = Dataset.open(dataset)
    requested_protocols = requested_protocols or dataset.protocols
    for protocol in requested_protocols:
        find_protocol(protocol)  # raises UserError for an unknown name
    whole = items_in_splits(dataset.benchmark, within)
    benchmark = limit_items(whole, request.limit)

    world = dataset.world
    identity: dict[str, Any] = {
        "model": model_name,
        "benchmark": whole.digest,
        "world": world.digest,
        "limit": request.limit,
        "split": list(within) or None,
        "question": question,
    }
    if whole.manifest.get("world") not in (None, identity["world"]):
        raise UserError(
            f"{whole.folder} was made over another world than {dataset.source}; run `gen "
            f"split` again."
        )
    protocols = _choose_protocols(whole, requested_protocols)
    splits = None
    if request.splits is not None:
        splits = _read_partitions(dataset, whole, Path(request.splits))
    _check_folder(out, identity)
    find_certificate = verified_now if request.verify and is_main else describe_certificate
    return PreparedRun(
        dataset=dataset,
        whole=whole,
        benchmark=benchmark,
        protocols=protocols,
        splits=splits,
        level=level,
        certificate=find_certificate(benchmark, world),
        identity=identity,
    )


def _choose_protocols(benchmark: Benchmark, requested: Sequence[str]) -> tuple[str, ...]:
    """The protocols to score: the requested ones, else all that the benchmark has. Raises UserError
    if one has no items."""
    for protocol in requested:
        if not benchmark.items_of(protocol).num_rows:
            raise UserError(
                f"The benchmark {benchmark.name} has no items of the protocol '{protocol}'; leave "
                f"--protocol out."
            )
    if requested:
        return tuple(dict.fromkeys(requested))
    protocols = tuple(name for name in protocol_names() if benchmark.items_of(name).num_rows)
    if not protocols:
        others = ", ".join(f"'{name}'" for name in unknown_protocols(benchmark)) or "none"
        raise UserError(
            f"The benchmark {benchmark.name} has no items to measure (other protocols it has: "
            f"{others}); write some with `gen describe`."
        )
    return protocols


def _read_partitions(dataset: Dataset, benchmark: Benchmark, folder: Path) -> Splits:
    """The partitions of a published benchmark. Raises UserError as `read_splits`, and for a
    dataset."""
    if dataset.source.name is None:
        raise UserError(
            f"{dataset.source} has splits of its own; leave --splits out, or score a published "
            f"benchmark."
        )
    return read_splits(folder, benchmark)


def start_run(prepared: PreparedRun, out: Path, *, is_main: bool = True) -> None:
    """Create the folder of a run, and record in it which run was started.

    Args:
        prepared: The checked request.
        out: The folder of the run.
        is_main: Whether this process writes the run's results.
    """
    out.mkdir(parents=True, exist_ok=True)
    if is_main:
        write_json(out / IDENTITY_FILE, prepared.identity)


def finish_run(
    prepared: PreparedRun, out: Path, *, record: Mapping[str, Any], cache: Path | None
) -> None:
    """Write run.json and the other files of a finished run.

    Args:
        prepared: The checked request.
        out: The folder of the run.
        record: What was scored, and how: entries of run.json.
        cache: A folder to delete now; None for the user's cache.

    Raises:
        UserError: The folder was started again for another run meanwhile, as on a disk that has no
            locks.
    """
    check_unfinished(prepared, out)
    limit = prepared.identity["limit"]
    under_limit = None
    if limit is not None:
        under_limit = record_limit(
            prepared.whole, prepared.benchmark, protocols=record["protocols"], limit=limit
        )
        for line in describe_limit(under_limit):
            logger.info(line)
    dataset, benchmark_name = prepared.dataset, prepared.benchmark.name
    if dataset.source.name is not None:
        # A published benchmark is stored with the run: its files may be gone when it is measured.
        tables = {table: getattr(dataset.benchmark, table) for table in BENCHMARK_TABLES}
        about = prepared.whole.manifest.get(READING, {})
        write_questions(out, benchmark_name, tables=tables, about=about)
    common = {**record_conditions(prepared), "under_limit": under_limit}
    write_json(out / "run.json", {**common, **record})
    if prepared.splits is not None:
        write_splits(out, prepared.splits)
    end_run(out, cache)
    remove_parts(out)


def check_unfinished(prepared: PreparedRun, out: Path) -> None:
    """Check that a folder still holds this run before its results are written.

    Args:
        prepared: The checked request.
        out: The folder of the run.

    Raises:
        UserError: It was started again for another run, or finished, meanwhile, as on a disk that
            has no locks.
    """
    _check_folder(out, prepared.identity)
    if not (out / IDENTITY_FILE).exists():
        raise UserError(
            f"{out} was finished by another command meanwhile; run this command again with another "
            f"--out."
        )


def end_run(out: Path, cache: Path | None) -> None:
    """Mark a run as finished. Until here, a command that is started again resumes it.

    Args:
        out: The folder of the run.
        cache: A folder to delete now; None for the user's cache.
    """
    (out / IDENTITY_FILE).unlink()
    if cache is not None:
        shutil.rmtree(cache, ignore_errors=True)


def record_conditions(prepared: PreparedRun) -> dict[str, Any]:
    """Record under which conditions a run was made.

    Args:
        prepared: The checked request.

    Returns:
        The identity of the run, its dataset and benchmark, the level, and versions of software:
        entries of run.json.
    """
    return {
        **prepared.identity,
        **prepared.dataset.source.record(),
        "benchmark_name": prepared.benchmark.name,
        "certificate": prepared.certificate,
        "level": prepared.level,
        "python": platform.python_version(),
        "versions": {package: version(package) for package in _PACKAGES},
    }


def _open_model(request: Request, out: Path) -> tuple[Model, Path | None]:
    """The model, and the folder of its cache: None for the user's cache, a folder of the run if the
    model is not reusable."""
    if isinstance(request.model, str):
        model = load_model(request.model, request.device)
    else:
        check_device(request.device)
        model = from_memory(request.model, request.model_name)
    return model, None if model.reusable else out / CACHE


def _choose_questions(model: Model, prepared: PreparedRun, request: Request) -> _Questions:
    """The protocols that the model can be asked, and the scores that they need."""
    benchmark, protocols = prepared.benchmark, prepared.protocols
    not_asked: dict[str, str] = {}
    reads_images = not isinstance(model, PairScorer) or model.reads_images
    if VIEWS in protocols and reads_images:
        if request.protocols and {*protocols} == {VIEWS}:
            raise UserError(f"'{VIEWS}' cannot be scored: {_IN_WORDS}; use `score ask`.")
        not_asked[VIEWS] = _IN_WORDS
        protocols = tuple(name for name in protocols if name != VIEWS)
    if model.fits_texts:
        protocols, pooled = _without_pools(protocols, benchmark, request)
        not_asked |= pooled
    needs = collect_needs(benchmark, protocols)
    if model.fits_texts:
        needs = without_pools(needs)
    if isinstance(model, PairScorer) and not isinstance(model, Oracle) and not request.full_pools:
        # A run with a limit is a trial: complete pools would be most of its cost.
        most_passes = LIMIT if request.limit is None else 0
        needs = within_limit(needs, benchmark, passes=model.passes, most=most_passes)
    return _Questions(protocols, needs, not_asked)


def _without_pools(
    protocols: Sequence[str], benchmark: Benchmark, request: Request
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The protocols without pools, and by part that a model that is fitted on texts is not asked,
    the reason.

    Raises UserError if the request names protocols and one has pools, or if all protocols have
    pools.
    """
    with_pools = [name for name in protocols if has_item_pools(benchmark, name)]
    without = tuple(name for name in protocols if name not in with_pools)
    if with_pools and (request.protocols or not without):
        raise UserError(
            f"{request.model_name} cannot be asked '{with_pools[0]}': {_FITTED}; leave it out, or "
            f"take blind:length or blind:lm:NAME."
        )
    parts = list(with_pools)
    for name in without:
        if find_protocol(name).folds(benchmark):
            parts.append(f"raw retrieval of {name}")
    return without, dict.fromkeys(parts, _FITTED)


def check_training(
    model: Model | Answerer, prepared: PreparedRun, *, images: Sequence[str], request: Request
) -> dict[str, Any]:
    """Find out what is known of the model's training.

    Args:
        model: The model.
        prepared: The checked request.
        images: The scene_ids that are scored.
        request: The request, which may allow contaminated models.

    Returns:
        The record of the training (evaluator.provenance.contamination).

    Raises:
        UserError: The model is contaminated, and that is not allowed.
    """
    training = training_of(
        model, prepared.dataset.world, benchmark=prepared.benchmark, images=images
    )
    if training["status"] == CONTAMINATED and not request.allow_contaminated:
        raise UserError(
            f"{training['sentence'].removesuffix('.')} of {request.model_name}; score it on the "
            f"benchmark whose train "
            "split it was trained on, or add --allow-contaminated, which says so on every table."
        )
    return training


def announce(
    info: Mapping[str, Any],
    cost: str,
    *,
    training: Mapping[str, Any],
    not_asked: Mapping[str, str],
) -> None:
    """Log what a run is about to do.

    Args:
        info: What the model says of itself.
        cost: A sentence on the work.
        training: The record of the model's training.
        not_asked: By part that is not asked, the reason.
    """
    facts = []
    for name, value in info.items():
        # Plain facts only; lists and dictionaries are in run.json.
        if isinstance(value, str | int):
            facts.append(f"{name.replace('_', ' ')} {value}")
    logger.info("Model: " + "; ".join(facts))
    logger.info(cost)
    logger.info(training["sentence"])
    for part, reason in not_asked.items():
        logger.info(f"Not asked: {part}, since {reason}.")


def _precision(own: str | None, mixed_in: str) -> str:
    """The precision that a model computed in: its own (None: float32), and the precision that was
    mixed in if it is not float32."""
    own = str(own or "float32")
    return own if mixed_in == "float32" else f"{own}, mixed with {mixed_in}"


def log_counts(model: Any) -> dict[str, int] | None:
    """Log the counts of a model in this process, such as requests.

    Args:
        model: The model.

    Returns:
        The counts by name; None for models that do not count.
    """
    counts: dict[str, int] | None = getattr(model, "counts", None)
    if counts:
        parts = [f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items()]
        logger.info("; ".join(parts) + ".")
    return counts


def _check_folder(out: Path, identity: Mapping[str, Any]) -> None:
    """Raise UserError when the folder holds something other than a run, or a run of another model
    or dataset."""
    if not out.exists():
        return
    check_own_files(out)
    records = []
    for name, record_type in (("run.json", RunRecord), (IDENTITY_FILE, None)):
        if (out / name).exists():
            records.append(read_json(out / name, record_type))
    # A run that is starting has only hidden files.
    is_starting = all(path.name.startswith(".") for path in out.iterdir())
    if not (records or (out / "scores.parquet").exists() or is_starting):
        raise UserError(f"{out} is not empty and holds no run; choose another --out.")
    for key, value in identity.items():
        for record in records:
            if record.get(key) != value:
                raise UserError(
                    f"{out} holds a run of another {key} ({record.get(key)}); choose another --out."
                )
