"""The commands `gen split` and `gen describe`: new benchmarks and new texts for existing images."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator.base.commands import Bar, Command, result, say
from generator.base.errors import UserError
from generator.cli.options import (
    BLOCK_SEED,
    DATASET,
    DESIGN,
    EXPOSED,
    FILE,
    HOLDOUT,
    JSON,
    OPPOSITES,
    REPLACE,
    SEED,
    values_given,
)
from generator.cli.plan import POWER, check_power, print_power
from generator.describe.protocols import protocol_names

if TYPE_CHECKING:
    from generator.dataset.reader import World
    from generator.describe.benchmark import BenchmarkSummary
    from generator.holdout.holdout import Holdout
    from generator.plan.evaluated import EvaluatedScenes
    from generator.vocabulary.schema import Vocabulary

_FEW_SCENES = 10
"""With fewer scenes of `unseen`, an accuracy of 75% has an interval of more than 25 points on
either side."""


@click.command(
    cls=Command,
    common=("name", "protocols", "levels", "complexity", "preset", "replace"),
    examples=[
        "describe many --name asked",
        "describe many --protocol skill --complexity 2..6 --name skills",
        "describe many --preset crepe2023",
    ],
)
@DATASET
@click.option(
    "--benchmark",
    help=(
        "Benchmark whose holdout and splits to keep; required if the benchmarks of DATASET differ "
        "in them."
    ),
)
@click.option(
    "--name",
    help=(
        "Name of the new benchmark.  [default: named after what is held out, with -texts or the "
        "preset's name]"
    ),
)
@click.option(
    "--preset",
    metavar="NAME|FILE",
    help=(
        "Texts of a paper: compass2026, crepe2023 or hard-positives2024; or a TOML file of yours "
        "(docs/language.md)."
    ),
)
@click.option(
    "--protocol",
    "protocols",
    multiple=True,
    help=f"Protocol to write items for: {', '.join(protocol_names())}. Repeat for several.  "
    f"[default: all that the world allows]",
)
@click.option(
    "--level",
    "levels",
    multiple=True,
    help="What graded captions name: L1 (objects), OA (objects and attributes), OR (objects and "
    "relations) or OAR (all three). Repeat for several.  [default: all]",
)
@click.option(
    "--complexity",
    default="1..12",
    help="Number of atoms in a graded caption: one number or a range such as 1..12.",
)
@click.option(
    "--counts",
    help=(
        "Exact numbers of objects, attributes and relations in graded captions, such as "
        "O=3,A=5,R=2."
    ),
)
@click.option(
    "--train",
    "training",
    multiple=True,
    help="Kind of training captions: plain, relations, graded or synonyms. Repeat for several.  "
    "[default: all; only labels for class lists]",
)
@click.option(
    "--negative",
    "negatives",
    multiple=True,
    help=(
        "Kind of training negatives: swap, replace, flip or neg. Repeat for several.  [default: "
        "all]"
    ),
)
@click.option(
    "--positive",
    "positives",
    multiple=True,
    help="Kind of training positives (captions in other words): swap, replace or converse. Repeat "
    "for several.  [default: all]",
)
@click.option(
    "--captions",
    help="Training captions with these statistics, such as "
    "density=0.5,completeness=0.7,saliency=1.0. They replace the other kinds unless --train names "
    "some.",
)
@click.option(
    "--template",
    help="Template for all texts: one of the grammar, such as there-is, or one that the family "
    "declares. Training captions that it cannot express use another.  [default: drawn at random, "
    "the same for a caption and its foils]",
)
@EXPOSED
@click.option(
    "--any-familiarity",
    is_flag=True,
    help=(
        "Let foils be more or less familiar than their captions. The dataset's manifest records it."
    ),
)
@click.option(
    "--known-words",
    is_flag=True,
    help=(
        "Let foils name only values and categories that training shows. Results say so after the "
        "benchmark's name."
    ),
)
@click.option(
    "--without",
    type=FILE,
    help=(
        "File with ids of items to leave out, one a line; score audit --similar writes such a file."
    ),
)
@click.option("--seed", type=SEED, default=0, help="Seed of the texts.")
@REPLACE
@JSON
@click.pass_context
def describe(
    context: click.Context, dataset: Path, replace: bool, as_json: bool, **text_options: Any
) -> None:
    """Write new texts for DATASET: captions of controlled complexity, foils and hard positives.

    Makes a new benchmark over the same images with the same holdout and splits. Nothing is
    rendered.
    """
    from generator.api import describe_texts
    from generator.base.store import display_name

    name, summary = describe_texts(
        dataset, **values_given(context, text_options), replace_old=replace, progress=Bar()
    )
    for protocol_and_kind, n_items in summary.items.items():
        say(f"{protocol_and_kind:30} {n_items:>9,} items")
    for protocol, words in summary.unknown_words.items():
        say(f"{protocol} uses words that no training text has: {', '.join(words)}")
    for line in describe_empty_cells(summary.empty_cells):
        say(line)
    # A benchmark that was there already was audited when it was written.
    if summary.written:
        for line in audit_texts(dataset, name, summary.items):
            say(line)
    n_dropped, n_refused = sum(summary.dropped.values()), sum(summary.refused.values())
    say(
        f"{summary.texts:,} texts, each decided on its scene; {n_refused:,} foils refused "
        f"({summary.refused.get('true', 0):,} were true), {n_dropped:,} items dropped. "
        f"{name}/manifest.json counts them by reason. Next: gen verify {display_name(dataset)} "
        f"--benchmark {name}"
    )
    data = {
        "dataset": display_name(dataset),
        "benchmark": name,
        "scenes": summary.scenes,
        "items": summary.items,
        "texts": summary.texts,
        "dropped": summary.dropped,
        "refused": summary.refused,
        "unknown_words": summary.unknown_words,
        "empty_cells": summary.empty_cells,
    }
    result(data, as_json, name)


def _check_default_block(
    world: "World", vocabulary: "Vocabulary", holdouts: "Sequence[Holdout]", name: str
) -> None:
    """Raise UserError if the default block, which the user did not choose, leaves next to nothing
    to measure."""
    from generator.describe.scenes import evaluated_scenes
    from generator.holdout.request import design_of

    for holdout in holdouts:
        (evaluated,) = evaluated_scenes(world, vocabulary, [holdout])
        if 0 < len(evaluated) < _FEW_SCENES:
            raise UserError(
                f"Without --holdout, gen split holds out {design_of(holdout).summary(holdout)}, "
                f"and {name} has only {len(evaluated)} such scenes for {evaluated.split}; say what "
                f"to hold out, such as --holdout 4x6 or --holdout "
                f'"{holdout.kind}=… {holdout.category}=…" (docs/choose.md), or render more scenes.'
            )


@click.command(
    cls=Command,
    common=("holdout", "block_seed", "name", "replace"),
    examples=[
        "split small --holdout 4x6 --name wide-block",
        "split small --holdout relation:pair=2x3 --block-seed 0..4",
        "split turned --holdout turns=4 --dose 0,1,3,10",
        "split small --holdout 4x6 --power",
    ],
)
@DATASET
@DESIGN
@HOLDOUT
@BLOCK_SEED
@OPPOSITES
@EXPOSED
@click.option(
    "--dose",
    help="Show held-out combinations of each turn this many times in training, such as 0,1,10,100 "
    "with --holdout turns=4: a sub-block for each number (docs/splits.md).",
)
@click.option(
    "--name",
    help="Name of the benchmark, if there is only one.  [default: named after what is held out]",
)
@REPLACE
@POWER
@JSON
@click.pass_context
def split(
    context: click.Context,
    dataset: Path,
    design: str,
    holdout: tuple[str, ...],
    block_seed: str,
    opposites: bool,
    exposed_negatives: bool,
    dose: str | None,
    name: str | None,
    replace: bool,
    power: bool,
    as_json: bool,
) -> None:
    """Write another benchmark over the images of DATASET, with other combinations held out.

    Nothing is rendered. Several block seeds, values of k (coverage) or tasks (gzsl) give one
    benchmark each.
    """
    from generator.base.store import display_name
    from generator.dataset.reader import Dataset
    from generator.describe.benchmark import describe_world
    from generator.describe.request import check_exposed, first_request
    from generator.describe.scenes import dosed_holdouts, evaluated_scenes
    from generator.holdout.request import HoldoutRequest, design_of, parse_seeds
    from generator.vocabulary.schema import parse_vocabulary

    block_seeds = parse_seeds(block_seed)
    opened = Dataset.open(dataset)
    vocabulary = parse_vocabulary(opened.world.vocabulary_text, "vocabulary.toml")
    holdouts = HoldoutRequest(design, holdout, block_seeds, opposites).holdouts(vocabulary)
    if dose is not None:
        holdouts = dosed_holdouts(opened.world, vocabulary, holdouts=holdouts, dose_option=dose)
    _check_name(name, len(holdouts))
    if power:
        check_power(context, "exposed_negatives", "name", "replace")
        designs = evaluated_scenes(opened.world, vocabulary, holdouts)
        print_power(designs, holdouts[0], vocabulary, as_json)
        return
    if exposed_negatives:
        check_exposed(holdouts)
    # A block that the user chose is kept, however few scenes it leaves.
    if not holdout:
        _check_default_block(opened.world, vocabulary, holdouts, display_name(dataset))
    scenes_of: dict[str, Mapping[str, int]] = {}
    for block in holdouts:
        block_name = design_of(block).benchmark_name(block) if name is None else name
        summary = describe_world(
            dataset,
            opened.world,
            holdout=block,
            name=block_name,
            request=first_request(block, exposed_negatives, vocabulary),
            progress=Bar(),
            replace=replace,
        )
        scenes_of[block_name] = summary.scenes
        # After the benchmark, which is worth having even if too few scenes are left to measure.
        (evaluated,) = evaluated_scenes(opened.world, vocabulary, [block])
        _say_benchmark(display_name(dataset), block_name, block, summary, evaluated)
    _print_benchmarks(display_name(dataset), scenes_of, as_json)


def _print_benchmarks(
    dataset: str, scenes_of: Mapping[str, Mapping[str, int]], as_json: bool
) -> None:
    """Print the new benchmarks of a dataset. scenes_of: {benchmark: {split: scenes}}."""
    first = next(iter(scenes_of))
    data = {
        "dataset": dataset,
        "benchmark": first,
        "scenes": scenes_of[first],
        "benchmarks": scenes_of,
    }
    result(data, as_json, "\n".join(scenes_of))


def _check_name(name: str | None, n_benchmarks: int) -> None:
    """Raise UserError if a folder cannot have the value of --name, or if several benchmarks would
    share it."""
    from generator.base.paths import check_benchmark_name

    if name is None:
        return
    check_benchmark_name(name)
    if n_benchmarks > 1:
        raise UserError(
            f"--name {name}: this makes {n_benchmarks} benchmarks and each needs its own name; "
            f"leave --name out."
        )


def _say_benchmark(
    dataset: str,
    name: str,
    holdout: "Holdout",
    summary: "BenchmarkSummary",
    evaluated: "EvaluatedScenes",
) -> None:
    """Say what a new benchmark holds out, what it lacks, and what to do next.

    Args:
        dataset: the dataset, as the user names it.
        name: name of the benchmark.
        holdout: what it holds out.
        summary: what it has.
        evaluated: the scenes that decide its main result.
    """
    from generator.describe.benchmark import ALREADY_EXISTS
    from generator.holdout.possible import balance_note
    from generator.holdout.request import design_of
    from generator.plan.power import sentence

    if not summary.written:
        say(ALREADY_EXISTS.format(name))
    say(f"Held out: {design_of(holdout).summary(holdout)}.")
    if 0 < len(evaluated) < _FEW_SCENES:
        say(
            f"Only {len(evaluated)} scenes are {evaluated.split}: hold out more, or render more "
            f"scenes. {sentence(evaluated)}"
        )
    note = balance_note(holdout)
    if note:
        say(f"Note: {note}")
    for line in describe_empty_cells(summary.empty_cells):
        say(line)
    counts = ", ".join(f"{split_name} {n:,}" for split_name, n in summary.scenes.items())
    say(f"Scenes: {counts}. Next: gen verify {dataset} --benchmark {name}")


AUDITED = 300
"""Fewest items of a kind that `score audit --quick` judges."""


def audit_texts(dataset: Path, benchmark: str, items: Mapping[str, int]) -> list[str]:
    """Let `score audit --quick` test whether texts alone reveal the true captions.

    The audit is a process of the evaluator, which the generator does not import: whoever judges
    texts should not be a part of the program that writes them.

    Args:
        dataset: folder of the dataset.
        benchmark: name of the benchmark.
        items: number of items by "protocol kind".

    Returns:
        The lines that the audit prints; none if there are too few items to judge.
    """
    most_items = 0
    for protocol_and_kind, n in items.items():
        if not protocol_and_kind.startswith("train "):
            most_items = max(most_items, n)
    # With fewer items the audit could not tell a reveal from chance.
    if most_items < AUDITED:
        return []
    audit = "from evaluator.cli.main import main; main()"
    arguments = ["audit", str(dataset), "--benchmark", benchmark, "--quick"]
    # -P keeps modules of the user's working folder from taking the place of ours.
    process = subprocess.run(
        [sys.executable, "-P", "-c", audit, *arguments], capture_output=True, text=True, check=False
    )
    if process.returncode:
        # The last line of a traceback names the error.
        reason = ["it printed nothing", *process.stderr.strip().splitlines()][-1]
        return [
            f"The texts were not audited ({reason}); run `score audit {dataset} --benchmark "
            f"{benchmark} --quick`."
        ]
    return process.stdout.strip().splitlines()


_NAMED_CELLS = 10
"""Questions that are named before the others are only counted."""


def describe_empty_cells(cells: Sequence[str]) -> list[str]:
    """Describe the cells of a benchmark that have no questions.

    Args:
        cells: Their descriptions.

    Returns:
        A line for each of the first ten, then one with the number of the others.
    """
    lines = [
        f"No question: {cell}. Other splits have this question." for cell in cells[:_NAMED_CELLS]
    ]
    if len(cells) > _NAMED_CELLS:
        lines.append(
            f"{len(cells) - _NAMED_CELLS:,} more cells without questions; manifest.json names all "
            f"of them."
        )
    return lines
