"""The command `gen`."""

from pathlib import Path

import click
from click.core import ParameterSource

from generator.cli.assets import assets
from generator.cli.export import export
from generator.cli.options import BLOCK_SEED, DESIGN, EXPOSED, HOLDOUT, JSON, OPPOSITES, SEED
from generator.cli.render import merge, render
from generator.cli.vocab import vocab
from generator.dataset.commands import Commands, DatasetFolder, result, say
from generator.dataset.errors import UserError
from generator.describe.protocols.registry import protocol_names


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(package_name="jackalope", prog_name="gen")
def main() -> None:
    """Make worlds in which chosen combinations never occur, and benchmarks over them."""


main.add_command(render)
main.add_command(merge)


@main.command()
@click.argument("dataset", type=DatasetFolder())
@DESIGN
@HOLDOUT
@BLOCK_SEED
@OPPOSITES
@EXPOSED
@click.option("--name", help="Name of the benchmark, where only one is made.  [default: after what is held out]")
@JSON
def split(
    dataset: Path, design: str, holdout: tuple[str, ...], block_seed: str, opposites: bool, exposed_negatives: bool, name: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Hold out something else over the images of DATASET: a new benchmark, nothing rendered.

    Several block seeds, points of a coverage curve or class lists make several benchmarks.
    """
    from generator.dataset.errors import UserError
    from generator.dataset.reader import Dataset
    from generator.dataset.store import shown
    from generator.describe.benchmark import describe
    from generator.describe.request import check_name, first_request
    from generator.holdout.request import HoldoutRequest, design_of, parse_seeds
    from generator.vocabulary.schema import parse_vocabulary

    opened = Dataset.open(dataset)
    vocabulary = parse_vocabulary(opened.world.vocabulary_text, "vocabulary.toml")
    holdouts = HoldoutRequest(design, holdout, parse_seeds(block_seed), opposites).holdouts(vocabulary)
    if name and len(holdouts) > 1:
        raise UserError(
            f"--name {name}: {len(holdouts)} benchmarks are made, each needs a name of its own; leave --name out."
        )
    made = {}
    for each in holdouts:
        called = check_name(name) if name else design_of(each).benchmark_name(each)
        made[called] = describe(dataset, opened.world, each, called, first_request(each, exposed_negatives)).scenes
        say(f"Held out: {design_of(each).summary(each)}.")
        counts = ", ".join(f"{split} {n:,}" for split, n in made[called].items())
        say(f"Scenes: {counts}. Next: gen verify {shown(dataset)} --benchmark {called}")
    first = next(iter(made))
    data = {"dataset": shown(dataset), "benchmark": first, "scenes": made[first], "benchmarks": made}
    result(data, as_json, "\n".join(made))


@main.command()
@click.argument("dataset", type=DatasetFolder())
@click.option(
    "--benchmark", help="Benchmark whose held-out block and splits are kept, where DATASET has several blocks."
)
@click.option("--name", help="Name of the new benchmark.  [default: that of the block, with -texts]")
@click.option(
    "--protocol",
    "protocols",
    multiple=True,
    help=f"Protocol to write items of: {', '.join(protocol_names())}; may be given again.  "
    "[default: all that the world allows]",
)
@click.option(
    "--level",
    "levels",
    multiple=True,
    help="What graded captions name: L1 (objects), OA (with attributes), OR (with relations) or OAR; may be given again.  [default: all]",
)
@click.option("--complexity", default="1..12", help="Atoms of a graded caption: a number or a range.")
@click.option("--counts", help="Exact numbers of objects, attributes and relations, such as O=3,A=5,R=2; any of them.")
@click.option(
    "--captions",
    help="What training captions mention, such as density=0.5,completeness=0.7,saliency=1.0.  [default: every object with its tested value]",
)
@click.option(
    "--template",
    help="Say everything in one template, such as there-is.  [default: by chance, the same for truth and foils]",
)
@EXPOSED
@click.option(
    "--any-familiarity",
    is_flag=True,
    help="Let foils be more or less familiar than their captions (the dataset then says so).",
)
@click.option("--seed", type=SEED, default=0, help="Seed of the texts.")
@JSON
def describe(
    dataset: Path, benchmark: str | None, name: str | None, protocols: tuple[str, ...], levels: tuple[str, ...], complexity: str,
    counts: str | None, captions: str | None, template: str | None, exposed_negatives: bool, any_familiarity: bool, seed: int,
    as_json: bool,
) -> None:  # fmt: skip
    """Write other texts for DATASET: captions of controlled complexity, foils proven false, paraphrases proven true.

    A new benchmark over the same images and the same held-out block; nothing is rendered.
    """
    from generator.dataset.reader import Dataset
    from generator.dataset.store import shown
    from generator.describe.benchmark import describe as write
    from generator.describe.benchmark import kept_splits
    from generator.describe.protocols.train import parse_statistics
    from generator.describe.request import Request, check_name, check_request
    from generator.holdout.holdout import Holdout
    from generator.holdout.request import design_of
    from generator.language.complexity import LEVELS, parse_complexity, parse_counts

    request = Request(
        protocols or None,
        levels=levels or tuple(LEVELS),
        complexity=parse_complexity(complexity),
        counts=parse_counts(counts),
        statistics=parse_statistics(captions),
        template=template,
        exposed_negatives=exposed_negatives,
        equal_familiarity=not any_familiarity,
        seed=seed,
    )
    check_request(request)
    opened = Dataset.open(dataset)
    holdout = Holdout.from_dict(opened.block(benchmark))
    name = check_name(name) if name else f"{design_of(holdout).benchmark_name(holdout)}-texts"
    done = write(dataset, opened.world, holdout, name, request, kept_splits(opened, holdout))
    for what, n in done.items.items():
        say(f"{what:30} {n:>9,} items")
    dropped, refused = sum(done.dropped.values()), sum(done.refused.values())
    say(
        f"{done.texts:,} texts, each decided on its scene; {refused:,} foils refused ({done.refused.get('true', 0):,} were true), "
        f"{dropped:,} items dropped: {name}/manifest.json counts them by reason. Next: gen verify {shown(dataset)} --benchmark {name}"
    )
    data = {
        "dataset": shown(dataset),
        "benchmark": name,
        "scenes": done.scenes,
        "items": done.items,
        "texts": done.texts,
    }
    result({**data, "dropped": done.dropped, "refused": done.refused}, as_json, name)


@main.command()
@click.argument("dataset", type=DatasetFolder(), required=False)
@click.option("--benchmark", help="Name of the benchmark.  [default: all]")
@click.option(
    "--splits",
    "labels",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Judge the labels of this CSV or JSON file, made elsewhere, instead of a DATASET.",
)
@click.option(
    "--columns",
    multiple=True,
    help="Roles of the file's columns, as split=fold,label=caption or first=animal,first.color=paint,second=...  "
    "[default: columns called after their role]",
)
@click.option("--task", help="Which part of a JSON file that holds labels by split for several tasks.  [default: all]")
@click.option("--train", multiple=True, help="A split that trains; may be given again.  [default: train]")
@click.option(
    "--familiar", multiple=True, help="A split that is meant to show the arrangements of training; may be given again."
)
@JSON
def verify(
    dataset: Path | None, benchmark: str | None, labels: Path | None, columns: tuple[str, ...], task: str | None,
    train: tuple[str, ...], familiar: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Prove DATASET: no leak, every positive true, every negative false, familiarity symmetric, files whole.

    Or judge the splits of other people's labels (--splits): arrangements in two splits, in the same words, in another
    order or by converse; shared images; values told by their place; true negatives; unequal familiarity.

    Exit code 1 when anything is wrong; every finding names its rows.
    """
    from generator.judge.answer import report
    from generator.judge.foreign.judge import verify_splits
    from generator.judge.foreign.rows import Marks
    from generator.judge.verify import verify_dataset

    if labels and not (dataset or benchmark):
        found = verify_splits(labels, columns, task, Marks(train or None, familiar))
    elif dataset and not (labels or columns or task or train or familiar):
        found = verify_dataset(dataset, benchmark)
    else:
        raise UserError(
            "Expected a DATASET to prove, with --benchmark or without, or --splits FILE to judge, with --columns, --task, "
            "--train and --familiar or without; give one of the two."
        )
    for line in report(found):
        say(line)
    lines = [f"{name}: {each['status']}" for name, each in found.items()]
    result(found, as_json, "\n".join(lines))
    raise SystemExit(1 if any(each["status"] == "failed" for each in found.values()) else 0)


@main.command()
@click.argument("dataset", type=DatasetFolder())
@click.option("--benchmark", help="Name of the benchmark.")
@click.option("--split", "splits", multiple=True, help="Only this split; may be given again.  [default: all]")
@click.option("--n", "number", type=click.IntRange(min=1), default=6, help="Images of each split.")
@click.option("--seed", type=SEED, default=0, help="Seed of the choice of images.")
@click.option(
    "--grid",
    is_flag=True,
    help="Draw every value of the held-out kind on every object instead, one of each, held-out combinations framed.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="PNG to write.  [default: preview.png or grid.png in DATASET]",
)
@JSON
@click.pass_context
def preview(
    context: click.Context,
    dataset: Path,
    benchmark: str | None,
    splits: tuple[str, ...],
    number: int,
    seed: int,
    grid: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Draw a contact sheet of DATASET: images of every split with their captions."""
    from generator.inspection.sheets.contact_sheet import draw_preview
    from generator.inspection.sheets.grid import draw_grid

    if grid:
        for name in ("splits", "number", "seed"):
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise UserError(
                    "--grid takes of all images the one that shows a combination best; leave --split, --n and --seed out."
                )
        path = draw_grid(dataset, benchmark, out or dataset / "grid.png")
    else:
        path = draw_preview(dataset, benchmark, splits, number, seed, out or dataset / "preview.png")
    result({"preview": str(path)}, as_json, str(path))


main.add_command(assets)
main.add_command(export)
main.add_command(vocab)
