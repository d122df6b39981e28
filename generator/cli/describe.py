"""The command `gen describe`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from generator.base.commands import Bar, DatasetFolder, result, say
from generator.base.errors import UserError
from generator.cli.options import EXPOSED, FILE, JSON, REPLACE, SEED, given
from generator.describe.protocols.registry import protocol_names

_OF_PRESET = ("protocols", "levels", "complexity", "template")


@click.command()
@click.argument("dataset", type=DatasetFolder())
@click.option(
    "--benchmark",
    help="Benchmark whose holdout and splits to keep; required if the benchmarks of DATASET differ in them.",
)
@click.option(
    "--name",
    help="Name of the new benchmark.  [default: named after what is held out, with -texts or the preset's name]",
)
@click.option(
    "--preset",
    metavar="NAME|FILE",
    help="Texts as a paper asks for them: compass2026, crepe2023 or hard-positives2024, or a TOML file of yours (docs/language.md).",
)
@click.option(
    "--protocol",
    "protocols",
    multiple=True,
    help=f"Protocol to write items for: {', '.join(protocol_names())}. Repeat for several.  [default: all that the world "
    "allows]",
)
@click.option(
    "--level",
    "levels",
    multiple=True,
    help="What graded captions name: L1 (objects), OA (objects and attributes), OR (objects and relations) or OAR (all three). "
    "Repeat for several.  [default: all]",
)
@click.option(
    "--complexity", default="1..12", help="Number of atoms in a graded caption: one number or a range such as 1..12."
)
@click.option(
    "--counts", help="Exact numbers of objects, attributes and relations in graded captions, such as O=3,A=5,R=2."
)
@click.option(
    "--train",
    "training",
    multiple=True,
    help="Kind of training captions: plain, relations, graded or synonyms. Repeat for several.  [default: all; labels alone "
    "for class lists]",
)
@click.option(
    "--negative",
    "negatives",
    multiple=True,
    help="Kind of training negatives: swap, replace, flip or neg. Repeat for several.  [default: all]",
)
@click.option(
    "--positive",
    "positives",
    multiple=True,
    help="Kind of training positives, captions said otherwise: swap, replace or converse. Repeat for several.  [default: all]",
)
@click.option(
    "--captions",
    help="Training captions that mention so much, such as density=0.5,completeness=0.7,saliency=1.0; instead of the other kinds "
    "unless --train names some.",
)
@click.option(
    "--template",
    help="Template for all texts, such as there-is; training captions that it cannot say have another.  [default: drawn at "
    "random, the same for a caption and its foils]",
)
@EXPOSED
@click.option(
    "--any-familiarity",
    is_flag=True,
    help="Let foils be more or less familiar than their captions. The dataset's manifest records it.",
)
@click.option(
    "--without",
    type=FILE,
    help="File of item ids to leave out, one a line, such as score audit --similar writes.",
)
@click.option("--seed", type=SEED, default=0, help="Seed of the texts.")
@REPLACE
@JSON
@click.pass_context
def describe(
    context: click.Context, dataset: Path, benchmark: str | None, name: str | None, preset: str | None, protocols: tuple[str, ...],
    levels: tuple[str, ...], complexity: str, counts: str | None, training: tuple[str, ...], negatives: tuple[str, ...],
    positives: tuple[str, ...], captions: str | None, template: str | None, exposed_negatives: bool, any_familiarity: bool,
    without: Path | None, seed: int, replace: bool, as_json: bool,
) -> None:  # fmt: skip
    """Write new texts for DATASET: captions of controlled complexity, foils and hard positives.

    Makes a new benchmark over the same images with the same holdout and splits. Nothing is rendered.
    """
    from generator.base.files import read_ids
    from generator.base.paths import check_benchmark_name
    from generator.base.store import shown
    from generator.dataset.reader import Dataset
    from generator.describe.benchmark import ALREADY, kept_splits
    from generator.describe.benchmark import describe as write
    from generator.describe.contrasts import NEGATIVES, POSITIVES
    from generator.describe.request import Request, check_request, read_text_preset
    from generator.describe.statistics import parse_statistics
    from generator.holdout.holdout import Holdout
    from generator.holdout.request import design_of
    from generator.language.complexity import LEVELS, parse_complexity, parse_counts

    options: Mapping[str, Mapping[str, Any]] = {}
    suffix = "texts"
    if preset is not None:
        stated = read_text_preset(preset)
        for each in _OF_PRESET:
            if each in given(context):
                raise UserError(f"--preset {preset} sets {given(context)[each]} itself; leave one of the two out.")
        protocols, levels, complexity, template = stated.protocols, stated.levels, stated.complexity, stated.template
        options, suffix = stated.options, Path(preset).stem
        any_familiarity = any_familiarity or not stated.equal_familiarity
    request = Request(
        protocols or None,
        options,
        levels=levels or tuple(LEVELS),
        complexity=parse_complexity(complexity),
        counts=parse_counts(counts),
        training=training or None,
        negatives=negatives or NEGATIVES,
        positives=positives or POSITIVES,
        statistics=parse_statistics(captions),
        template=template,
        exposed_negatives=exposed_negatives,
        equal_familiarity=not any_familiarity,
        seed=seed,
        without=read_ids(without) if without else frozenset(),
    )
    check_request(request)
    opened = Dataset.open(dataset)
    holdout = Holdout.from_dict(opened.block(benchmark))
    name = check_benchmark_name(name) if name is not None else f"{design_of(holdout).benchmark_name(holdout)}-{suffix}"
    splits = kept_splits(opened, holdout)
    done = write(dataset, opened.world, holdout, name, request, splits, progress=Bar(), replace=replace)
    if not done.written:
        say(ALREADY.format(name))
    for what, n in done.items.items():
        say(f"{what:30} {n:>9,} items")
    for protocol, words in done.unknown_words.items():
        say(f"{protocol} asks words that no training text has: {', '.join(words)}")
    dropped, refused = sum(done.dropped.values()), sum(done.refused.values())
    say(
        f"{done.texts:,} texts, each decided on its scene; {refused:,} foils refused ({done.refused.get('true', 0):,} were true), "
        f"{dropped:,} items dropped. {name}/manifest.json counts them by reason. Next: gen verify {shown(dataset)} --benchmark {name}"
    )
    data = {
        "dataset": shown(dataset), "benchmark": name, "scenes": done.scenes, "items": done.items, "texts": done.texts,
        "dropped": done.dropped, "refused": done.refused, "unknown_words": done.unknown_words,
    }  # fmt: skip
    result(data, as_json, name)
