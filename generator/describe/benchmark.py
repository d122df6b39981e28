"""Writes the texts and items of a benchmark; the entry point is `describe_world`."""

import hashlib
import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from generator.base.errors import UserError, visible
from generator.base.progress import SILENT, Progress
from generator.base.store import display_name
from generator.dataset.reader import Benchmark, Dataset, World
from generator.dataset.records import TRAIN, plan_request
from generator.dataset.writer import BenchmarkWriter, difference, write_index
from generator.describe.captioner import Captioner
from generator.describe.protocol import Protocol
from generator.describe.protocols import find_protocol
from generator.describe.protocols.gzsl import TrainingLabels
from generator.describe.request import (
    TextRequest,
    check_request,
    first_request,
    requested_protocols,
)
from generator.describe.scenes import collect_training_content, most_objects, rendered_scenes
from generator.describe.tables import BenchmarkTables, empty_cells
from generator.describe.training import KINDS, TrainingTexts
from generator.holdout.class_lists import OBJECTS
from generator.holdout.designs.base import Design
from generator.holdout.holdout import Holdout
from generator.holdout.membership import CLAIMS, Rule
from generator.holdout.request import design_of
from generator.language.complexity import Cell, list_cells
from generator.plan.store import Assigned, StoredPlan
from generator.vocabulary.schema import Vocabulary, parse_vocabulary

_OPTION_OF_TRAINING_FIELD = {
    "training": "--train",
    "negatives": "--negative",
    "positives": "--positive",
    "statistics": "--captions",
    "exposed_negatives": "--exposed-negatives",
}
"""The fields of a request that are about training captions with foils, each with its option."""
ALREADY_EXISTS = "The benchmark {} already exists, made by the same request; nothing is written."
"""What is said of a benchmark that is kept; the name goes into the braces."""


@dataclass(frozen=True)
class BenchmarkSummary:
    """Summary of a benchmark."""

    scenes: dict[str, int]
    """Number of scenes by split."""
    items: dict[str, int]
    """Number of items by "protocol kind"."""
    texts: int
    """Number of different texts."""
    dropped: dict[str, int]
    """Number of items that could not be made, by protocol, kind and reason."""
    refused: dict[str, int]
    """Number of refused foils by reason (`Captioner.refused`)."""
    unknown_words: dict[str, list[str]]
    """By protocol, the words of its texts that no training text has."""
    empty_cells: list[str]
    """Questions that a split lacks and another split has (`tables.empty_cells`)."""
    written: bool = True
    """False if the benchmark already existed, made by the same request."""


def describe_world(
    root: Path,
    world: World,
    *,
    holdout: Holdout,
    name: str,
    request: TextRequest,
    assigned: Mapping[str, Assigned] | None = None,
    with_world: bool = False,
    progress: Progress = SILENT,
    replace: bool = False,
) -> BenchmarkSummary:
    """Write a benchmark for a holdout over a world. Nothing is rendered.

    Every text is decided on its scene before it is written.

    Args:
        root: folder of the dataset.
        world: its world.
        holdout: what training never shows. The rule of its design assigns scenes to splits.
        name: name of the benchmark.
        request: the texts to write.
        assigned: the splits that scenes were made for, by scene_id; all other scenes are in none.
            None to follow the rule.
        with_world: notes that the benchmark is made with its world.
        progress: reports each scene.
        replace: overwrite a benchmark of that name and remove its certificate.

    Returns:
        The summary. Without `replace`, a benchmark of that name is kept if the same request made
        it.

    Raises:
        UserError: another request made a benchmark of that name, a split would be empty, a named
            protocol gets no item, or an option of the request has no effect.
    """
    design = design_of(holdout)
    recipe = _describe_recipe(
        world, holdout, request=request, assigned=assigned, with_world=with_world
    )
    vocabulary = parse_vocabulary(world.vocabulary_text, "vocabulary.toml")
    rule = design.rule(vocabulary, holdout)
    with BenchmarkWriter(root, name) as writer:
        if not replace and (writer.folder / "manifest.json").exists():
            return _summarize_existing(root, Benchmark(writer.folder), recipe)

        manifest = _write_tables(
            writer, world, rule=rule, request=request, assigned=assigned, progress=progress
        )
        writer.finish(holdout.to_dict(), recipe | manifest)
    return _summarize(Benchmark(writer.folder), written=True)


def _write_tables(
    writer: BenchmarkWriter,
    world: World,
    *,
    rule: Rule,
    request: TextRequest,
    assigned: Mapping[str, Assigned] | None,
    progress: Progress,
) -> dict[str, Any]:
    """Write the tables of a benchmark; returns what its manifest says of them. Raises UserError if
    the benchmark would measure less than it seems to."""
    captioner = _make_captioner(world, rule, request=request, assigned=assigned)
    training, protocols = _make_protocols(world, rule, captioner=captioner, request=request)
    tables = BenchmarkTables(
        writer, captioner, rule, seed=request.seed, assigned=assigned, without=request.without
    )

    _write_items(
        world, tables, training=training, protocols=protocols, request=request, progress=progress
    )
    _check_tables(tables, protocols, holdout=rule.holdout, name=writer.folder.name, request=request)

    # Pools come last: only those that items refer to are written.
    for protocol in protocols:
        tables.add_pools(protocol.name, protocol.pools())

    report = _report_tables(tables, captioner, holdout=rule.holdout, request=request)
    texts = _report_texts(request, tables, captioner=captioner, protocols=(training, *protocols))
    return {**report, "texts": texts}


def _make_protocols(
    world: World, rule: Rule, *, captioner: Captioner, request: TextRequest
) -> tuple[Protocol, Sequence[Protocol]]:
    """Make what writes the training texts, and the protocols of the other splits. Raises UserError
    for options of training texts without effect."""
    n_objects = most_objects(world)
    protocols = make_protocols(captioner, request, n_objects)
    training = make_training(captioner, request, n_objects)
    if TRAIN not in rule.splits or isinstance(training, TrainingLabels):
        _check_no_training_options(request)
    return training, protocols


def _make_captioner(
    world: World,
    rule: Rule,
    *,
    request: TextRequest,
    assigned: Mapping[str, Assigned] | None,
) -> Captioner:
    """Make the language of a benchmark. Raises UserError if `--known-words` has no effect."""
    holdout = rule.holdout
    design = design_of(holdout)
    # Class lists state themselves what training shows.
    trained = None if design.label_captions else collect_training_content(world, rule, assigned)
    if request.known_words and (trained is None or not trained.names):
        raise UserError(
            "--known-words limits foils to words of training scenes; leave it out for worlds "
            "without training and for class lists."
        )
    return Captioner(
        rule.vocabulary,
        holdout,
        request.equal_familiarity and design.equal_familiarity(holdout),
        request.template,
        trained=trained,
        known_words=request.known_words,
    )


def _write_items(
    world: World,
    tables: BenchmarkTables,
    *,
    training: Protocol,
    protocols: Sequence[Protocol],
    request: TextRequest,
    progress: Progress,
) -> None:
    """Write the items of all scenes, then the items that need the captions of all scenes."""
    surveying = [protocol for protocol in protocols if protocol.surveys]
    if surveying:
        for row in rendered_scenes(world, with_salience=False):
            tables.survey(row, surveying)
    rows = rendered_scenes(world, with_salience=request.statistics is not None)
    n_rendered = world.manifest["scenes"] - world.manifest["failed"]
    for row in progress.follow(rows, "describing", total=n_rendered):
        tables.add_scene(row, training, protocols)
    for protocol in protocols:
        tables.add_pooled_items(protocol)


def _declared_leaks(request: TextRequest) -> list[str]:
    """What the options of a request let texts reveal, in words; the manifest declares it."""
    leaks = []
    if request.exposed_negatives:
        leaks.append("train negatives show held-out bindings (--exposed-negatives)")
    if not request.equal_familiarity:
        leaks.append("foils may be more or less familiar than their captions (--any-familiarity)")
    return leaks


def _check_tables(
    tables: BenchmarkTables,
    protocols: Sequence[Protocol],
    *,
    holdout: Holdout,
    name: str,
    request: TextRequest,
) -> None:
    """Refuse a benchmark that measures less than it seems to.

    Args:
        tables: The tables, with all items.
        protocols: The protocols that the items were made for.
        holdout: What training never shows.
        name: Name of the benchmark.
        request: The request of its texts.

    Raises:
        UserError: A split is empty, a named protocol or a claim has no item, or an id to leave out
            is unknown.
    """
    design = design_of(holdout)
    _check_left_out(request.without, tables.left_out)
    _check_task(tables, holdout, name=name, design=design)
    _check_splits(tables, design.may_lack(holdout))
    if request.protocols is not None and request.strict:
        _check_protocols_have_items(tables, protocols, request.template)
    if protocols:
        _check_claims_have_items(tables)


def _report_tables(
    tables: BenchmarkTables, captioner: Captioner, *, holdout: Holdout, request: TextRequest
) -> dict[str, Any]:
    """What the manifest says of the splits: what is held out, their scenes, and what they lack."""
    design = design_of(holdout)
    report = {
        "design": design.name,
        "held_out": design.summary(holdout),
        "scenes": dict(tables.scenes),
        "exposed_negatives": request.exposed_negatives,
        "equal_familiarity": captioner.equal_familiarity,
        "declared_leaks": _declared_leaks(request) + design.declared_leaks(holdout),
        "unknown_words": tables.unknown_words(),
    }
    missing_questions = empty_cells(tables.cells, tables.scenes)
    if missing_questions:
        report["empty_cells"] = missing_questions
    return report


def _report_texts(
    request: TextRequest,
    tables: BenchmarkTables,
    *,
    captioner: Captioner,
    protocols: Sequence[Protocol],
) -> dict[str, Any]:
    """What the manifest says of the texts: how they were drawn, and how many there are."""
    reports = {}
    for protocol in protocols:
        report = protocol.report()
        if report:
            reports[protocol.name] = report
    return {
        "seed": request.seed,
        "template": request.template,
        "items": dict(sorted(tables.items.items())),
        "dropped": dict(sorted(captioner.dropped.items())),
        "refused": dict(sorted(captioner.refused.items())),
        "reports": reports,
    }


def _describe_recipe(
    world: World,
    holdout: Holdout,
    *,
    request: TextRequest,
    assigned: Mapping[str, Assigned] | None,
    with_world: bool,
) -> dict[str, Any]:
    """Everything that determines a benchmark's tables, for its manifest."""
    options = asdict(request)
    del options["strict"]  # decides only whether a benchmark is refused
    del options["without"]
    if request.without:
        options["without"] = sorted(request.without)
    options["splits"] = None
    if assigned is not None:
        assignments = {scene_id: asdict(place) for scene_id, place in assigned.items()}
        text = json.dumps(assignments, sort_keys=True)
        options["splits"] = hashlib.sha256(text.encode()).hexdigest()
    recipe = {
        "world": world.digest,
        "holdout": holdout.to_dict(),
        "with_world": with_world,
        "request": options,
    }
    # Tuples become lists, so that a recipe equals the one that a manifest holds.
    as_in_manifest: dict[str, Any] = json.loads(json.dumps(recipe))
    return as_in_manifest


def _summarize_existing(
    root: Path, benchmark: Benchmark, recipe: Mapping[str, Any]
) -> BenchmarkSummary:
    """The summary of an existing benchmark. Raises UserError unless the same request made it."""
    existing = {key: benchmark.manifest.get(key) for key in recipe}
    if existing != recipe:
        reason = "it does not say how it was made"
        if existing["request"]:
            reason = difference(_flat(existing), _flat(recipe))
        raise UserError(
            f"{display_name(root)} has another benchmark {benchmark.name}: {reason}; choose "
            f"another --name, or add --replace, which removes that benchmark and its certificate."
        )
    # A run that was stopped may not have listed the benchmark, or not copied it to its URL.
    write_index(root)
    return _summarize(benchmark, written=False)


def _flat(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """A recipe with the options of its request beside its other keys."""
    return {**(recipe["request"] or {}), **recipe, "request": None}


def _summarize(benchmark: Benchmark, written: bool) -> BenchmarkSummary:
    manifest = benchmark.manifest
    return BenchmarkSummary(
        scenes=manifest["scenes"],
        items=manifest["texts"]["items"],
        texts=benchmark.texts.num_rows,
        dropped=manifest["texts"]["dropped"],
        refused=manifest["texts"]["refused"],
        unknown_words=manifest["unknown_words"],
        empty_cells=manifest.get("empty_cells", []),
        written=written,
    )


def make_protocols(captioner: Captioner, request: TextRequest, n_objects: int) -> list[Protocol]:
    """Make the requested protocols.

    Args:
        captioner: the language of the benchmark.
        request: names the protocols and their options.
        n_objects: the largest number of objects in a scene.

    Raises:
        UserError: a protocol, a template or an option does not exist, or no caption has the
            requested complexity.
    """
    check_request(request, captioner.vocabulary.templates)
    protocols: list[Protocol] = []
    cells: list[Cell] | None = None
    for name in requested_protocols(request):
        protocol_class = find_protocol(name)
        options = dict(request.options.get(name, {}))
        if protocol_class.graded:
            if cells is None:
                cells = _requested_cells(request, captioner.vocabulary, n_objects)
            options = {"cells": cells, **options}
        protocols.append(protocol_class(captioner, **options))
    return protocols


def make_training(captioner: Captioner, request: TextRequest, n_objects: int) -> Protocol:
    """Make the protocol that writes the training texts.

    Args:
        captioner: the language of the benchmark.
        request: names the kinds of training texts.
        n_objects: the largest number of objects in a scene.

    Raises:
        UserError: no caption has the requested complexity.
    """
    kinds = request.training
    if kinds is None:
        if request.statistics is not None:
            kinds = ()
        elif design_of(captioner.holdout).label_captions:
            return TrainingLabels(captioner)
        else:
            kinds = KINDS
    return TrainingTexts(
        captioner,
        _requested_cells(request, captioner.vocabulary, n_objects),
        kinds=kinds,
        statistics=request.statistics,
        negatives=request.negatives,
        positives=request.positives,
        exposed_negatives=request.exposed_negatives,
    )


def _requested_cells(request: TextRequest, vocabulary: Vocabulary, n_objects: int) -> list[Cell]:
    """The requested cells of graded captions."""
    return list_cells(
        request.levels,
        request.complexity,
        request.counts,
        vocabulary=vocabulary,
        most_objects=n_objects,
    )


def choose_benchmark(dataset: Dataset, name: str | None) -> Benchmark:
    """Choose the benchmark whose holdout and splits new texts keep.

    Args:
        dataset: the dataset.
        name: name of the benchmark; None for the one made with the world, else the first.

    Raises:
        UserError: `name` is None, the benchmarks differ in their holdout, and none or several were
            made with the world.
    """
    if name is not None:
        return dataset.benchmark(name)
    dataset.block()  # raises the error
    benchmarks = [dataset.benchmark(benchmark_name) for benchmark_name in dataset.benchmark_names()]
    return min(benchmarks, key=lambda benchmark: not benchmark.manifest.get("with_world"))


def read_assigned_splits(root: Path, benchmark: Benchmark) -> dict[str, Assigned]:
    """Read the split of every scene in a benchmark, for other texts over the same splits.

    Args:
        root: folder of the dataset.
        benchmark: one of its benchmarks.

    Returns:
        The split by scene_id; for class lists also the objects that labels name, from the world's
        plan. Scenes without a split are left out.
    """
    holdout = benchmark.holdout_block()
    planned: dict[str, Assigned] = {}
    if design_of(Holdout.from_dict(holdout)).label_captions:
        holdouts = (plan_request(root / "world") or {}).get("holdouts", [])
        if holdout in holdouts:
            planned = StoredPlan(root).assigned()[holdouts.index(holdout)]
    assigned: dict[str, Assigned] = {}
    scene_ids = benchmark.splits["scene_id"].to_pylist()
    splits = benchmark.splits["split"].to_pylist()
    for scene_id, split in zip(scene_ids, splits, strict=True):
        if split is not None:
            label_order = planned[scene_id].named if scene_id in planned else ()
            assigned[scene_id] = Assigned(split, label_order)
    return assigned


def _check_no_training_options(request: TextRequest) -> None:
    """Raise UserError for options about training captions with foils."""
    defaults = TextRequest()
    for field, option in _OPTION_OF_TRAINING_FIELD.items():
        if getattr(request, field) != getattr(defaults, field):
            raise UserError(
                f"{option} is about training captions with foils, and there are none; leave it out."
            )


def _check_left_out(requested: Set[str], left_out: Set[str]) -> None:
    """Raise UserError if an item to leave out was not written anyway."""
    missing = sorted(requested - left_out)
    if missing:
        raise UserError(
            f"{len(missing):,} of {len(requested):,} items to leave out are not among these texts, "
            f"such as {visible(missing[0])}; repeat the options that made the benchmark whose "
            f"items are listed."
        )


def _check_task(tables: BenchmarkTables, holdout: Holdout, *, name: str, design: Design) -> None:
    """Raise UserError if a world has no scene of a class list's task."""
    if holdout.task and not any(tables.scenes.values()):
        raise UserError(
            f"{name} needs scenes for the task {holdout.task} (objects in each: "
            f"{OBJECTS[holdout.task]}), which this world lacks; render one with --design "
            f"{design.name}."
        )


def _check_splits(tables: BenchmarkTables, may_lack: Sequence[str]) -> None:
    """Raise UserError if a split is empty that the design does not allow to be."""
    empty = []
    for split, n_scenes in tables.scenes.items():
        if n_scenes == 0 and split not in may_lack:
            empty.append(split)
    if empty:
        raise UserError(
            f"This holdout leaves no rendered scene for {', '.join(empty)}: hold out more "
            f"combinations, try another --block-seed if a block is drawn, or render more scenes."
        )


def _check_protocols_have_items(
    tables: BenchmarkTables, protocols: Sequence[Protocol], template: str | None
) -> None:
    """Raise UserError if a protocol has no item."""
    with_items = {name.split()[0] for name in tables.items}
    for protocol in protocols:
        if protocol.name not in with_items:
            or_template = f", or the template '{template}' cannot say it" if template else ""
            raise UserError(
                f"No scene gives an item of '{protocol.name}': {protocol.needs}{or_template}."
            )


def _check_claims_have_items(tables: BenchmarkTables) -> None:
    """Raise UserError if a split of CLAIMS has scenes but no items."""
    silent = [
        split for split in CLAIMS if tables.scenes[split] and not tables.items_of_split[split]
    ]
    if silent:
        raise UserError(
            f"No item asks about {' or '.join(silent)}: captions need two objects of a scene that "
            f"are the only ones of their categories; take other --protocol, render more scenes, or "
            f"fewer objects."
        )


def write_benchmarks(
    root: Path, world: World, *, exposed_negatives: bool, progress: Progress = SILENT
) -> dict[str, BenchmarkSummary]:
    """Write the benchmark of each holdout of the world's plan.

    A benchmark has the scenes that were planned for its holdout, in their planned splits. Over the
    grid, and in a design whose holdouts share scenes, it has all scenes, in the splits of its
    design's rule. An existing benchmark is kept, with its certificate.

    Args:
        root: folder of the dataset.
        world: its world.
        exposed_negatives: whether training negatives may name held-out bindings.
        progress: reports each scene.

    Returns:
        The summaries by name.

    Raises:
        UserError: another request made a benchmark of that name, such as one with other
            `exposed_negatives`.
    """
    # Scenes of a design whose holdouts share scenes are planned for none of them, so nothing is
    # assigned.
    assigned = StoredPlan(root).assigned()
    vocabulary = parse_vocabulary(world.vocabulary_text, "vocabulary.toml")
    summaries = {}
    for part, saved in enumerate(world.manifest["request"]["holdouts"]):
        holdout = Holdout.from_dict(saved)
        name = design_of(holdout).benchmark_name(holdout)
        summaries[name] = describe_world(
            root,
            world,
            holdout=holdout,
            name=name,
            request=first_request(holdout, exposed_negatives, vocabulary),
            assigned=assigned.get(part),
            with_world=True,
            progress=progress,
        )
    return summaries
