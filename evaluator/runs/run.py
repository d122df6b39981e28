"""Make a run: score one model on one benchmark in a folder, and measure it."""

import logging
import platform
import shutil
from collections.abc import Sequence
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
from evaluator.runs.folder import BEGUN
from evaluator.runs.lock import locked_run
from evaluator.runs.measure import check_level, measure_locked, unknown_protocols
from evaluator.runs.parts import (
    Splits,
    in_splits,
    limit_said,
    limited,
    read_splits,
    what_is_left,
    write_splits,
)
from evaluator.runs.request import Request, names
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
from generator.dataset.reader import Benchmark, found_certificate
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
CACHE = ".cache"
"""Folder in a run's folder for the cache of a model that is not reusable."""
_FITTED = (
    "a model that is fitted on the texts of the run would know from them which texts of a pool are "
    "asked about"
)


def run(request: Request, out: Path, progress: Progress = SILENT) -> Results | None:
    """Score a model, and measure the run, in the folder `out`; returns the results. Raises
    UserError for an invalid request, and if the dataset changed meanwhile.

    Each of several processes (torchrun, accelerate launch) scores its share; only the first returns
    results. The folder is locked until the end (evaluator.runs.lock).
    """
    process = Process.from_environment()
    with locked_run(out, process.is_main):
        return _run(request, out, process, progress)


def _run(request: Request, out: Path, process: Process, progress: Progress) -> Results | None:
    begun = begin(request, out, process)
    dataset, benchmark, protocols = begun.dataset, begun.benchmark, begun.protocols
    model, cache = _model(request, out)
    channels = tuple(model.channels) if isinstance(model, PairScorer) else (CHANNEL,)
    if request.channel not in (None, *channels):
        raise UserError(
            f"The model has no channel '{request.channel}': "
            f"{did_you_mean(str(request.channel), list(channels))}"
        )
    if isinstance(model, Oracle):
        model.open(benchmark, dataset.world)
    protocols, needs, not_asked = _asked(model, benchmark, protocols, request)
    training = check_training(model, begun, needs.images.to_pylist(), request)
    if model.fits_texts:
        model.fit_texts(words(benchmark, needs.texts).to_pylist(), text_groups(needs, benchmark))
    settings = settings_for(
        model, request.batch_size, precision=request.precision, workers=request.workers
    )
    settings = replace(settings, progress=progress if process.is_main else SILENT)
    info = {**model.info, "precision": _precision(model.info.get("precision"), settings.precision)}
    if process.is_main:
        announce(
            info,
            f"{describe_cost(model, needs)} Dataset certificate: {begun.certificate}.",
            training,
            not_asked,
        )
        for line in describe_limits(needs):
            logger.info(line)
    start(begun, out, process)
    indistinct = score(
        model,
        dataset.world,
        benchmark=benchmark,
        needs=needs,
        out=out,
        cache_folder=cache,
        settings=settings,
        process=process,
    )
    if not process.is_main:
        return None
    record = {
        "protocols": list(protocols),
        "training": training,
        "info": info,
        "indistinct_texts": indistinct,
        "batch": model.batch.size if isinstance(model, PairScorer) else settings.batch,
        "precision": settings.precision,
        "processes": process.count,
        "channels": list(channels),
        "channel": request.channel or channels[0],
        "image_channel": request.channel
        or (model.image_channel if isinstance(model, PairScorer) else None),
        "raw_retrieval": list(needs.folds),
        "left_out": list(needs.left_out),
        "not_asked": not_asked,
        "sampled_pools": needs.sampled,
        "tie_tolerance": model.tie_tolerance,
        "counts": counted(model),
    }
    finish(begun, out, record, protocols, cache)
    return measure_locked(out)


@dataclass(frozen=True)
class Begun:
    """The checked request of a run. whole: the benchmark in the splits to score. benchmark: its
    items within the limit. identity: what distinguishes the run from others."""

    dataset: Dataset
    whole: Benchmark
    benchmark: Benchmark
    protocols: tuple[str, ...]
    splits: Splits | None
    level: float
    certificate: str
    identity: dict[str, Any]


def begin(request: Request, out: Path, process: Process, question: str | None = None) -> Begun:
    """Check the request of a run. question: how a run in words asks. Raises UserError for an
    invalid request, and for a folder that holds anything else."""
    level = check_level(request.level)
    dataset, whole, protocols = _chosen(request)
    benchmark = limited(whole, request.limit)
    splits = None if request.splits is None else _splits(dataset, whole, Path(request.splits))
    identity: dict[str, Any] = {
        "model": request.model_name,
        "benchmark": benchmark.digest,
        "world": dataset.world.digest,
        "limit": request.limit,
        "split": list(names(request.within)) or None,
        "question": question,
    }
    _check_folder(out, identity)
    known = verified_now if request.verify and process.is_main else found_certificate
    status = known(benchmark, dataset.world)
    return Begun(dataset, whole, benchmark, protocols, splits, level, status, identity)


def start(begun: Begun, out: Path, process: Process) -> None:
    """Create the folder of a run, and record in it which run was started."""
    out.mkdir(parents=True, exist_ok=True)
    if process.is_main:
        write_json(out / BEGUN, begun.identity)


def finish(
    begun: Begun, out: Path, record: dict[str, Any], protocols: Sequence[str], cache: Path | None
) -> None:
    """Write run.json and the other files of a finished run. cache: a folder to delete now.

    Raises UserError if the folder was begun again for another run meanwhile, as on a disk that has
    no locks.
    """
    _check_folder(out, begun.identity)
    if not (out / BEGUN).exists():
        raise UserError(
            f"{out} was finished by another command meanwhile; run this command again with another "
            f"--out."
        )
    limit = begun.identity["limit"]
    left = (
        None
        if limit is None
        else what_is_left(begun.whole, begun.benchmark, list(protocols), limit)
    )
    for line in limit_said(left) if left else ():
        logger.info(line)
    dataset, name = begun.dataset, begun.benchmark.name
    if dataset.source.name is not None:
        # keep the questions in the run: the files of others may be gone when it is measured
        tables = {table: getattr(dataset.benchmark, table) for table in BENCHMARK_TABLES}
        about = begun.whole.manifest.get(READING, {})
        write_questions(out, name, tables=tables, about=about)
    common = {
        **begun.identity,
        **dataset.source.record(),
        "benchmark_name": name,
        "certificate": begun.certificate,
        "level": begun.level,
        "under_limit": left,
        "python": platform.python_version(),
        "versions": {package: version(package) for package in _PACKAGES},
    }
    write_json(out / "run.json", {**common, **record})
    if begun.splits is not None:
        write_splits(out, begun.splits)
    (out / BEGUN).unlink()
    remove_parts(out)
    if cache is not None:
        shutil.rmtree(cache, ignore_errors=True)


def _asked(
    model: Model, benchmark: Benchmark, protocols: tuple[str, ...], request: Request
) -> tuple[tuple[str, ...], Needs, dict[str, str]]:
    """The protocols that the model can be asked, the scores that they need, and {other part: why it
    is not asked}."""
    not_asked: dict[str, str] = {}
    if model.fits_texts:
        protocols, not_asked = _without_pools(protocols, benchmark, request)
    needs = collect_needs(benchmark, protocols)
    if model.fits_texts:
        needs = without_pools(needs)
    if isinstance(model, PairScorer) and not isinstance(model, Oracle) and not request.full_pools:
        # a run with a limit is a trial: complete pools would be most of its cost
        most = LIMIT if request.limit is None else 0
        needs = within_limit(needs, benchmark, passes=model.passes, most=most)
    return protocols, needs, not_asked


def _chosen(request: Request) -> tuple[Dataset, Benchmark, tuple[str, ...]]:
    """The dataset, its benchmark and the protocols to score. Raises UserError if one is missing, or
    if they do not match."""
    given = request.dataset
    dataset = given if isinstance(given, Dataset) else Dataset.open(given)
    asked = names(request.protocols) or dataset.protocols
    for protocol in asked:
        find_protocol(protocol)  # raises UserError for an unknown name
    benchmark = in_splits(dataset.benchmark, names(request.within))
    if benchmark.manifest.get("world") not in (None, dataset.world.digest):
        raise UserError(
            f"{benchmark.folder} was made over another world than {dataset.source}; run `gen "
            f"split` again."
        )
    for protocol in asked:
        if not benchmark.items_of(protocol).num_rows:
            raise UserError(
                f"The benchmark {benchmark.name} has no items of the protocol '{protocol}'; leave "
                f"--protocol out."
            )
    protocols = asked or tuple(p for p in protocol_names() if benchmark.items_of(p).num_rows)
    if not protocols:
        found = ", ".join(f"'{name}'" for name in unknown_protocols(benchmark)) or "none"
        raise UserError(
            f"The benchmark {benchmark.name} has no items to measure (other protocols it has: "
            f"{found}); write some with `gen describe`."
        )
    return dataset, benchmark, tuple(dict.fromkeys(protocols))


def _splits(dataset: Dataset, benchmark: Benchmark, folder: Path) -> Splits:
    """The partitions of a published benchmark. Raises UserError as `read_splits`, and for a
    dataset."""
    if dataset.source.name is None:
        raise UserError(
            f"{dataset.source} has splits of its own; leave --splits out, or score a published "
            f"benchmark."
        )
    return read_splits(folder, benchmark)


def _model(request: Request, out: Path) -> tuple[Model, Path | None]:
    """The model, and the folder of its cache: None for the user's cache, a folder of the run if the
    model is not reusable."""
    if isinstance(request.model, str):
        model = load_model(request.model, request.device)
    else:
        check_device(request.device)
        model = from_memory(request.model, request.model_name)
    return model, None if model.reusable else out / CACHE


def check_training(
    model: Model | Answerer, begun: Begun, images: Sequence[str], request: Request
) -> dict[str, Any]:
    """What is known of the model's training. Raises UserError if it is contaminated and that is not
    allowed."""
    training = training_of(model, begun.dataset.world, begun.benchmark, images)
    if training["status"] == CONTAMINATED and not request.allow_contaminated:
        raise UserError(
            f"{training['said'].removesuffix('.')} of {request.model_name}; score it on the "
            f"benchmark whose train "
            "split it was trained on, or add --allow-contaminated, which says so on every table."
        )
    return training


def _without_pools(
    protocols: Sequence[str], benchmark: Benchmark, request: Request
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The protocols without pools, and {part: reason} for what a model that is fitted on texts is
    not asked.

    Raises UserError if the request names protocols and one has pools, or if all protocols have
    pools.
    """
    pools = [name for name in protocols if has_item_pools(benchmark, name)]
    left = tuple(name for name in protocols if name not in pools)
    if pools and (request.protocols or not left):
        raise UserError(
            f"{request.model_name} cannot be asked '{pools[0]}': {_FITTED}; leave it out, or take "
            f"blind:length or blind:lm:NAME."
        )
    raw = [f"raw retrieval of {name}" for name in left if find_protocol(name).folds(benchmark)]
    return left, dict.fromkeys([*pools, *raw], _FITTED)


def announce(
    info: dict[str, Any], cost: str, training: dict[str, Any], not_asked: dict[str, str]
) -> None:
    """Log what a run is about to do."""
    facts = (
        f"{name.replace('_', ' ')} {value}"
        for name, value in info.items()
        if isinstance(value, str | int)
    )
    logger.info("Model: " + "; ".join(facts))
    logger.info(cost)
    logger.info(training["said"])
    for what, why in not_asked.items():
        logger.info(f"Not asked: {what}, since {why}.")


def _precision(own: Any, chosen: str) -> str:
    """The precision that a model computed in: its own, with the mixed-in precision if it is not
    float32."""
    return (
        str(own or "float32") if chosen == "float32" else f"{own or 'float32'}, mixed with {chosen}"
    )


def counted(model: Any) -> dict[str, int] | None:
    """Log and return the counts of a model in this process, such as requests; None for models that
    do not count."""
    counts: dict[str, int] | None = getattr(model, "counts", None)
    if counts:
        logger.info(
            "; ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items()) + "."
        )
    return counts


def _check_folder(out: Path, identity: dict[str, Any]) -> None:
    """Raises UserError when the folder holds something other than a run, or a run of another model
    or dataset."""
    if not out.exists():
        return
    check_own_files(out)
    runs = [(out / "run.json", RunRecord), (out / BEGUN, None)]
    recorded = [read_json(path, record) for path, record in runs if path.exists()]
    # a run that is starting has only hidden files
    if not (
        recorded
        or (out / "scores.parquet").exists()
        or all(each.name.startswith(".") for each in out.iterdir())
    ):
        raise UserError(f"{out} is not empty and holds no run; choose another --out.")
    for key, value in identity.items():
        for each in recorded:
            if each.get(key) != value:
                raise UserError(
                    f"{out} holds a run of another {key} ({each.get(key)}); choose another --out."
                )
