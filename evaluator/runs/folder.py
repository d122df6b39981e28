"""The folder of a run: names of its files, reading a finished run, and the factors that distinguish
runs."""

import hashlib
import json
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.protocols.records import FactorsRecord, ResultsRecord, RunRecord
from evaluator.provenance.contamination import marked_today
from evaluator.runs.parts import (
    Splits,
    in_splits,
    limited,
    read_splits,
    splits_of,
    with_splits,
    write_splits,
)
from generator.base.errors import UserError
from generator.base.files import read_json
from generator.base.paths import check_benchmark_name, check_own_files, split_name
from generator.base.store import is_url
from generator.dataset.reader import Benchmark, Dataset, World

_DRAWN = (
    "block_seed",
    "bindings",
    "triples",
    "classes",
    "values",
    "objects",
    "absent_values",
    "absent_objects",
    "turn",
    "value_groups",
    "object_groups",
    "doses",
)
"""The entries of a holdout that depend on the block seed or the turn; all others are its design."""
_OF_THE_DRAW = ("seed", "splits", "block_seed", "holdouts")
_OF_THE_MACHINE = ("blender", "device")
_DIGITS = 12
BEGUN, BEGUN_ITEMS = ".begun.json", ".items.json"
"""The file that marks an unfinished run, and an unfinished run of scores from elsewhere."""


@dataclass(frozen=True)
class Run:
    """A finished run. record: the contents of run.json. world: None for published benchmarks and
    scores from elsewhere. splits: the partitions that replace the splits of `benchmark`; None if it
    has its own."""

    folder: Path
    record: dict[str, Any]
    world: World | None
    benchmark: Benchmark
    splits: Splits | None = None

    @property
    def channels(self) -> list[str]:
        """The channels of the model's scores; the first is the model's default."""
        return list(self.record.get("channels", ["cosine"]))


def open_run(folder: Path, moved: Sequence[Path] = ()) -> Run:
    """Read the run in a folder. Raises UserError when there is none, or when the dataset changed
    since it was scored.

    moved: folders of datasets that were moved since; the dataset with the run's world is opened. A
        run may come from
    someone else: a URL that it names is not opened, and links in its folder are refused.
    """
    check_own_files(folder)
    if not (folder / "run.json").exists():
        raise UserError(
            f"{folder} is no finished run; give a folder written by `score run` or `score measure "
            f"--items`."
        )
    record = read_json(folder / "run.json", RunRecord)
    record = marked_today(record, record.get("info", {}))
    if record["dataset"] is None:  # the items are in the run's own folder
        splits = splits_of(folder)
        return Run(
            folder,
            record,
            None,
            with_splits(_part(_own_benchmark(folder, record), record), splits),
            splits,
        )
    if is_url(str(record["dataset"])):
        raise UserError(
            f"{folder / 'run.json'} names a dataset at a URL ({record['dataset']}), and URLs in "
            f"files are not "
            "opened; download it and write its folder there."
        )
    opened = [Dataset.open(path) for path in moved]
    dataset = next((each for each in opened if each.world.digest == record["world"]), None)
    if dataset is None and not Path(record["dataset"]).exists():
        raise UserError(
            f"The dataset of {folder} is not at {record['dataset']} any more; put it back, or give "
            f"`score report` its place with --dataset."
        )
    dataset = dataset or Dataset.open(Path(record["dataset"]))
    benchmark = dataset.benchmark(record["benchmark_name"])
    if (benchmark.digest, dataset.world.digest) != (record["benchmark"], record["world"]):
        raise UserError(
            f"The dataset {record['dataset']} changed since {folder} was scored; run `score run` "
            f"again with another --out."
        )
    return Run(folder, record, dataset.world, _part(benchmark, record))


def _part(benchmark: Benchmark, record: dict[str, Any]) -> Benchmark:
    """The part of the benchmark that a run was asked."""
    return limited(in_splits(benchmark, record.get("split") or ()), record.get("limit"))


def split_run(folder: Path, partitions: Path) -> None:
    """Use the partitions in a folder of `score familiarity` as the splits of a run. Raises
    UserError as `open_run` and `read_splits`, and for a run on a dataset, whose own splits depend
    on its training."""
    record = open_run(folder).record
    if record["dataset"] is not None:
        raise UserError(
            f"{folder} was scored on {record['dataset']}, which has splits of its own; leave "
            f"--splits out, or give a "
            "run of a published benchmark."
        )
    write_splits(folder, read_splits(partitions, _own_benchmark(folder, record)))


def _own_benchmark(folder: Path, record: dict[str, Any]) -> Benchmark:
    return Benchmark(folder / "benchmarks" / check_benchmark_name(record["benchmark_name"]))


def read_results(run: Run) -> dict[str, Any]:
    """The results of a run, and its `folder`, where its items are. Raises UserError when it has
    none."""
    if not (run.folder / "results.json").exists():
        raise UserError(
            f"{run.folder} has no results; write them with `score measure {run.folder}`."
        )
    results = in_folder(read_json(run.folder / "results.json", ResultsRecord), run.folder)
    return marked_today(results, run.record.get("info", {}))


def in_folder(results: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Results with the `folder` of their run, where pooling reads the items of several runs."""
    named = copy(results)  # a copy of a file's record still names the file where a key is missing
    named["folder"] = str(folder)
    return named


def as_written(results: dict[str, Any]) -> dict[str, Any]:
    """Results as results.json holds them, without the `folder` of `in_folder`."""
    return {key: value for key, value in results.items() if key != "folder"}


@dataclass(frozen=True)
class NamedRun:
    """A measured run, and its results with the model name that a report shows."""

    run: Run
    results: dict[str, Any]


def read_named(source: str, moved: Sequence[Path] = ()) -> NamedRun:
    """The run and results in FOLDER or NAME=FOLDER, where NAME replaces the model's name; `moved`
    as in `open_run`.

    Runs of one NAME count as runs of one model. If their training is not recorded, each model spec
    counts as a separate training. Raises UserError if there is no run, or if it has no results.
    """
    name, folder = split_name(source)
    run = open_run(folder, moved)
    return NamedRun(run, named_results(read_results(run), name))


def named_results(results: dict[str, Any], name: str | None) -> dict[str, Any]:
    """Results with their model renamed to `name`; unchanged without a name."""
    if name:
        factors = results["factors"]
        seed = results["model"] if factors["training_seed"] is None else factors["training_seed"]
        results |= {
            "model": name,
            "factors": {**factors, "model": name, "treatment": {}, "training_seed": seed},
        }
    return results


def is_unfinished(source: str) -> bool:
    """Whether the folder of FOLDER or NAME=FOLDER has a run that was started and not finished."""
    folder = split_name(source)[1]
    return not (folder / "run.json").exists() and any(
        (folder / name).exists() for name in (BEGUN, BEGUN_ITEMS)
    )


def folder_name(name: str) -> str:
    """Turn the name of a model or a file into the name of a folder.

    >>> folder_name("open_clip:ViT-B-32@openai"), folder_name("../..")
    ('open_clip_ViT-B-32_openai', 'unnamed')
    """
    return "".join(c if c.isalnum() or c in "-." else "_" for c in name).strip("._") or "unnamed"


def tables_folder(folder: Path) -> Path:
    """The folder of a run's tables; created if missing."""
    tables = folder / "tables"
    tables.mkdir(exist_ok=True)
    return tables


def factors_of(run: Run, channel: str, rules: dict[str, Any]) -> FactorsRecord:
    """The factors of a run that is measured by one channel of its scores and these rules."""
    record, holdout = run.record, run.benchmark.holdout or {}
    trained = record.get("info", {}).get("trained_on") or {}
    recipe = dict(trained.get("recipe") or {})
    seed = recipe.pop("seed", None)
    drawn = {name: holdout[name] for name in _DRAWN if name != "block_seed" and name in holdout}
    of_scores = {name: value for name, value in rules.items() if name == "tie_tolerance"}
    status = (record.get("training") or {}).get("status", "unknown")
    return FactorsRecord(
        model=_trained_model(trained) if trained else record["model"],
        treatment={**recipe, **of_scores, "channel": channel, "training": status},
        training_seed=seed,
        design={
            name: value
            for name, value in (_design(run.benchmark, run.world) | rules).items()
            if name not in of_scores
        },
        block=_digest(drawn) if holdout else None,
        block_seed=holdout.get("block_seed"),
        benchmark=f"{record['benchmark']}/{record['world']}",
    )


def _trained_model(trained: dict[str, Any]) -> str:
    """The name of a trained model: the training's method and base model. A base of ours is named by
    its weights, since folders are moved."""
    name, base = f"jackalope:{trained['method']}", trained.get("base")
    if not base:
        return name
    ours = base["model"].startswith("jackalope:")
    return f"{name} of {'jackalope:' + base['weights_sha256'][:8] if ours else base['model']}"


def _design(benchmark: Benchmark, world: World | None) -> dict[str, Any]:
    """The requests that world and benchmark were made from. Without a world, only the digest of the
    items."""
    if world is None:
        return {"items": benchmark.digest}
    holdout = {
        f"holdout {name}": value
        for name, value in (benchmark.holdout or {}).items()
        if name not in _DRAWN
    }
    texts = {
        f"texts {name}": value for name, value in benchmark.manifest.get("request", {}).items()
    }
    asked = dict(world.manifest["request"])
    if "scenes_asked" in asked:  # `scenes` depends on the class lists, which a block seed draws
        asked["scenes"] = asked.pop("scenes_asked")
    asked["vocabulary"] = _digest(asked.get("vocabulary"))
    found = {**holdout, **texts, **{f"world {name}": value for name, value in asked.items()}}
    return {
        name: value
        for name, value in found.items()
        if name.split()[-1] not in (*_OF_THE_DRAW, *_OF_THE_MACHINE)
    }


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:_DIGITS]
