"""Writes the texts and items of a benchmark; the entry point is `describe`."""

import hashlib
import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from generator.base.errors import UserError, visible
from generator.base.progress import SILENT, Progress
from generator.base.store import shown
from generator.dataset.reader import Benchmark, Dataset, World
from generator.dataset.records import plan_request
from generator.dataset.writer import BenchmarkWriter, difference, write_index
from generator.describe.captioner import Captioner
from generator.describe.protocol import Protocol
from generator.describe.protocols import find_protocol
from generator.describe.protocols.gzsl import TrainingLabels
from generator.describe.request import Request, check_request, first_request, requested_protocols
from generator.describe.scenes import Trained, most_objects, rendered_scenes
from generator.describe.tables import TRAIN, Tables, empty_cells
from generator.describe.training import KINDS, TrainingTexts
from generator.holdout.class_lists import OBJECTS
from generator.holdout.holdout import Holdout
from generator.holdout.membership import CLAIMS
from generator.holdout.request import design_of
from generator.language.complexity import Cell, cells
from generator.plan.store import Assigned, StoredPlan
from generator.vocabulary.schema import parse_vocabulary

_OF_TRAINING = {
    "training": "--train",
    "negatives": "--negative",
    "positives": "--positive",
    "statistics": "--captions",
    "exposed_negatives": "--exposed-negatives",
}
ALREADY = "The benchmark {} already exists, made by the same request; nothing is written."


@dataclass(frozen=True)
class Summary:
    """Summary of a benchmark: scenes by split, items by "protocol kind", number of texts, dropped
    items, refused foils, by protocol the words that training lacks, and the cells without items
    (`tables.empty_cells`).

    `written` is False if the benchmark already existed, made by the same request.
    """

    scenes: dict[str, int]
    items: dict[str, int]
    texts: int
    dropped: dict[str, int]
    refused: dict[str, int]
    unknown_words: dict[str, list[str]]
    empty_cells: list[str]
    written: bool = True


def describe(
    root: Path,
    world: World,
    holdout: Holdout,
    name: str,
    request: Request,
    assigned: Mapping[str, Assigned] | None = None,
    with_world: bool = False,
    progress: Progress = SILENT,
    replace: bool = False,
) -> Summary:
    """Write the benchmark `name` for a holdout over the world in `root`, and return its summary.

    The holdout's rule assigns scenes to splits. With `assigned` (by scene_id), scenes are in the
    splits that they were made for, and all other scenes in none. `with_world` notes that the
    benchmark is made with its world.

    If the same request already made a benchmark of that name, it is kept. If another request made
    it, raises UserError.
    `replace` overwrites it in both cases and removes its certificate.

    Every text is decided on its scene before it is written. Raises UserError if a split would be
    empty, or if a named protocol gets no item.
    """
    design = design_of(holdout)
    equal_familiarity = request.equal_familiarity and design.equal_familiarity(holdout)
    made_by = _made_by(world, holdout, request, assigned, with_world)
    vocabulary = parse_vocabulary(world.vocabulary_text, "vocabulary.toml")
    rule = design.rule(vocabulary, holdout)
    with BenchmarkWriter(root, name) as writer:
        if not replace and (writer.folder / "manifest.json").exists():
            return _finished(root, Benchmark(writer.folder), made_by)
        trained = None if design.label_captions else Trained.of(world, rule, assigned)
        if request.known_words and (trained is None or not trained.names):
            raise UserError(
                "--known-words limits foils to words of training scenes; leave it out for worlds "
                "without training and for class lists."
            )
        captioner = Captioner(
            vocabulary,
            holdout,
            equal_familiarity,
            request.template,
            trained=trained,
            known_words=request.known_words,
        )
        n_objects = most_objects(world)
        protocols = make_protocols(captioner, request, n_objects)
        training = make_training(captioner, request, n_objects)
        if TRAIN not in rule.splits or isinstance(training, TrainingLabels):
            _check_untrained(request)
        tables = Tables(writer, captioner, rule, request.seed, assigned, request.without)
        if surveying := [protocol for protocol in protocols if protocol.surveys]:
            for row in rendered_scenes(world, with_salience=False):
                tables.survey(row, surveying)
        rows = rendered_scenes(world, with_salience=request.statistics is not None)
        n_rendered = world.manifest["scenes"] - world.manifest["failed"]
        for row in progress.each(rows, "describing", n_rendered):
            tables.add_scene(row, training, protocols)
        for protocol in protocols:
            tables.add_pooled_items(protocol)
        _check_without(request.without, tables.left_out)
        if holdout.task and not any(tables.scenes.values()):
            raise UserError(
                f"{name} needs scenes for the task {holdout.task} (objects in each: "
                f"{OBJECTS[holdout.task]}), which "
                f"this world lacks; render one with --design {design.name}."
            )
        _check_splits(tables, design.may_lack(holdout))
        if request.protocols is not None and request.strict:
            _check_items(tables, protocols, request.template)
        if protocols:
            _check_questions(tables)
        for protocol in protocols:
            tables.add_pools(protocol.name, protocol.pools())
        declared = [
            "train negatives show held-out bindings (--exposed-negatives)"
        ] * request.exposed_negatives
        if not request.equal_familiarity:
            declared.append(
                "foils may be more or less familiar than their captions (--any-familiarity)"
            )
        manifest = made_by | {
            "design": design.name,
            "held_out": design.summary(holdout),
            "scenes": dict(tables.scenes),
            "exposed_negatives": request.exposed_negatives,
            "equal_familiarity": equal_familiarity,
            "declared_leaks": declared + design.declared_leaks(holdout),
            "unknown_words": tables.unknown_words(),
            "texts": {
                "seed": request.seed,
                "template": request.template,
                "items": dict(sorted(tables.items.items())),
                "dropped": dict(sorted(captioner.dropped.items())),
                "refused": dict(sorted(captioner.refused.items())),
                "reports": {
                    each.name: report
                    for each in (training, *protocols)
                    if (report := each.report())
                },
            },
        }
        if without_questions := empty_cells(tables.cells, tables.scenes):
            manifest["empty_cells"] = without_questions
        writer.finish(holdout.to_dict(), manifest)
    return _summary(Benchmark(writer.folder), True)


def _check_untrained(request: Request) -> None:
    """Raises UserError for options about training captions with foils."""
    usual = Request()
    for name, option in _OF_TRAINING.items():
        if getattr(request, name) != getattr(usual, name):
            raise UserError(
                f"{option} is about training captions with foils, and there are none; leave it out."
            )


def _made_by(
    world: World,
    holdout: Holdout,
    request: Request,
    assigned: Mapping[str, Assigned] | None,
    with_world: bool,
) -> dict[str, Any]:
    """Everything that determines a benchmark's tables, for its manifest."""
    asked = {
        name: value for name, value in asdict(request).items() if name not in ("strict", "without")
    }
    if request.without:
        asked["without"] = sorted(request.without)
    asked["splits"] = None
    if assigned is not None:
        made_for = json.dumps(
            {scene: asdict(place) for scene, place in assigned.items()}, sort_keys=True
        )
        asked["splits"] = hashlib.sha256(made_for.encode()).hexdigest()
    made_by = {
        "world": world.digest,
        "holdout": holdout.to_dict(),
        "with_world": with_world,
        "request": asked,
    }
    normal: dict[str, Any] = json.loads(json.dumps(made_by))
    return normal


def _finished(root: Path, benchmark: Benchmark, made_by: Mapping[str, Any]) -> Summary:
    """The summary of an existing benchmark. Raises UserError unless the same request made it."""
    made = {name: benchmark.manifest.get(name) for name in made_by}
    if made != made_by:
        how = "it does not say how it was made"
        if made["request"]:
            pair = (
                {**(each["request"] or {}), **each, "request": None} for each in (made, made_by)
            )
            how = difference(*pair)
        raise UserError(
            f"{shown(root)} has another benchmark {benchmark.name}: {how}; choose another --name, "
            f"or add "
            "--replace, which removes that benchmark and its certificate."
        )
    write_index(root)  # a run that was stopped may not have listed it, or not copied it to its URL
    return _summary(benchmark, False)


def _summary(benchmark: Benchmark, written: bool) -> Summary:
    manifest = benchmark.manifest
    texts = manifest["texts"]
    counts = (
        manifest["scenes"],
        texts["items"],
        benchmark.texts.num_rows,
        texts["dropped"],
        texts["refused"],
    )
    return Summary(*counts, manifest["unknown_words"], manifest.get("empty_cells", []), written)


def make_protocols(captioner: Captioner, request: Request, n_objects: int) -> list[Protocol]:
    """The requested protocols; `n_objects` is the largest number of objects in a scene. Raises
    UserError."""
    check_request(request, captioner.vocabulary.templates)
    found = {name: find_protocol(name) for name in requested_protocols(request)}
    graded: dict[str, Any] = {}
    if any(protocol.graded for protocol in found.values()):
        graded["cells"] = _cells(request, captioner, n_objects)
    return [
        protocol(captioner, **(graded if protocol.graded else {}), **request.options.get(name, {}))
        for name, protocol in found.items()
    ]


def make_training(captioner: Captioner, request: Request, n_objects: int) -> Protocol:
    """The protocol that writes the training texts; `n_objects` as for `make_protocols`. Raises
    UserError."""
    kinds = request.training
    if kinds is None and request.statistics is None and design_of(captioner.holdout).label_captions:
        return TrainingLabels(captioner)
    if kinds is None:
        kinds = () if request.statistics else KINDS
    return TrainingTexts(
        captioner,
        _cells(request, captioner, n_objects),
        kinds,
        request.statistics,
        request.negatives,
        request.positives,
        request.exposed_negatives,
    )


def _cells(request: Request, captioner: Captioner, n_objects: int) -> list[Cell]:
    """The requested cells of graded captions."""
    return cells(
        request.levels, request.complexity, request.counts, captioner.vocabulary, n_objects
    )


def kept_benchmark(dataset: Dataset, name: str | None) -> Benchmark:
    """The benchmark `name`; if it is None, the one made with the world, else the first. Raises
    UserError if `name` is None, the benchmarks differ in their holdout, and none or several were
    made with the world."""
    if name is not None:
        return dataset.benchmark(name)
    dataset.block()
    return min(
        map(dataset.benchmark, dataset.benchmark_names()),
        key=lambda each: not each.manifest.get("with_world"),
    )


def kept_splits(root: Path, benchmark: Benchmark) -> dict[str, Assigned]:
    """The split of every scene in a benchmark, for other texts over the same splits. For class
    lists also the objects that labels name, from the world's plan."""
    holdout = benchmark.holdout_block()
    planned: dict[str, Assigned] = {}
    if design_of(Holdout.from_dict(holdout)).label_captions:
        holdouts = (plan_request(root / "world") or {}).get("holdouts", [])
        if holdout in holdouts:
            planned = StoredPlan(root).assigned()[holdouts.index(holdout)]
    rows = zip(
        benchmark.splits["scene_id"].to_pylist(), benchmark.splits["split"].to_pylist(), strict=True
    )
    return {
        scene_id: Assigned(split, planned[scene_id].named if scene_id in planned else ())
        for scene_id, split in rows
        if split is not None
    }


def _check_without(asked: Set[str], left_out: Set[str]) -> None:
    if missing := sorted(asked - left_out):
        raise UserError(
            f"{len(missing):,} of {len(asked):,} items to leave out are not among these texts, "
            f"such as {visible(missing[0])}; repeat the options that made the benchmark whose "
            f"items are listed."
        )


def _check_splits(tables: Tables, may_lack: Sequence[str]) -> None:
    if empty := [split for split, n in tables.scenes.items() if n == 0 and split not in may_lack]:
        raise UserError(
            f"This holdout leaves no rendered scene for {', '.join(empty)}: hold out more "
            f"combinations, try another --block-seed if a block is drawn, or render more scenes."
        )


def _check_items(tables: Tables, protocols: Sequence[Protocol], template: str | None) -> None:
    written = {name.split()[0] for name in tables.items}
    for protocol in protocols:
        if protocol.name not in written:
            unsaid = f", or the template '{template}' cannot say it" if template else ""
            raise UserError(
                f"No scene gives an item of '{protocol.name}': {protocol.needs}{unsaid}."
            )


def _check_questions(tables: Tables) -> None:
    """Raises UserError if a split of CLAIMS has scenes but no items."""
    if silent := [split for split in CLAIMS if tables.scenes[split] and not tables.asked[split]]:
        raise UserError(
            f"No item asks about {' or '.join(silent)}: captions need two objects of a scene that "
            f"are the only ones of "
            f"their categories; take other --protocol, render more scenes, or fewer objects."
        )


def write_benchmarks(
    root: Path, world: World, exposed_negatives: bool, progress: Progress = SILENT
) -> dict[str, Summary]:
    """Write the benchmark of each holdout of the world's plan, and return the summaries by name.

    A benchmark has the scenes that were planned for its holdout, in their planned splits. Over the
    grid, and in a
    design whose holdouts share scenes, it has all scenes, in the splits of its design's rule. An
    existing benchmark is
    kept, with its certificate. Raises UserError if another request made it, such as one with other
    `exposed_negatives`.
    """
    # Scenes of a design whose holdouts share scenes are planned for none of them, so nothing is
    # assigned.
    assigned = StoredPlan(root).assigned()
    done = {}
    for part, saved in enumerate(world.manifest["request"]["holdouts"]):
        holdout = Holdout.from_dict(saved)
        name = design_of(holdout).benchmark_name(holdout)
        request = first_request(holdout, exposed_negatives)
        done[name] = describe(
            root, world, holdout, name, request, assigned.get(part), True, progress
        )
    return done
