"""The command `gen split`."""

from pathlib import Path

import click

from generator.base.commands import Bar, Command, result, say
from generator.base.errors import UserError
from generator.cli.options import BLOCK_SEED, DATASET, DESIGN, EXPOSED, HOLDOUT, JSON, OPPOSITES, REPLACE
from generator.cli.plan import POWER, check_power, of_first_seed, print_power


@click.command(
    cls=Command,
    common=("holdout", "block_seed", "name", "replace"),
    examples=[
        "split small --holdout 4x6 --name wide-block",
        "split small --holdout relation:pair=2x3 --block-seed 0..4",
        "split small --holdout 4x6 --power",
    ],
)
@DATASET
@DESIGN
@HOLDOUT
@BLOCK_SEED
@OPPOSITES
@EXPOSED
@click.option("--name", help="Name of the benchmark, if there is only one.  [default: named after what is held out]")
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
    name: str | None,
    replace: bool,
    power: bool,
    as_json: bool,
) -> None:
    """Write another benchmark over the images of DATASET, with other combinations held out.

    Nothing is rendered. Several block seeds, values of k (coverage) or tasks (gzsl) give one benchmark each.
    """
    from generator.base.paths import check_benchmark_name
    from generator.base.store import shown
    from generator.dataset.reader import Dataset
    from generator.describe.benchmark import ALREADY, describe
    from generator.describe.request import check_exposed, first_request
    from generator.describe.scenes import rendered_size
    from generator.holdout.request import HoldoutRequest, design_of, parse_seeds
    from generator.vocabulary.schema import parse_vocabulary

    opened = Dataset.open(dataset)
    vocabulary = parse_vocabulary(opened.world.vocabulary_text, "vocabulary.toml")
    holdouts = HoldoutRequest(design, holdout, parse_seeds(block_seed), opposites).holdouts(vocabulary)
    if name is not None and len(holdouts) > 1:
        raise UserError(
            f"--name {name}: this makes {len(holdouts)} benchmarks and each needs its own name; leave --name out."
        )
    if power:
        check_power(context, "exposed_negatives", "name", "replace")
        told = of_first_seed(holdouts)
        print_power(told, [rendered_size(opened.world, each) for each in told], as_json)
        return
    if exposed_negatives:
        check_exposed(holdouts)
    made = {}
    for each in holdouts:
        called = check_benchmark_name(name) if name is not None else design_of(each).benchmark_name(each)
        request = first_request(each, exposed_negatives)
        done = describe(dataset, opened.world, each, called, request, progress=Bar(), replace=replace)
        made[called] = done.scenes
        if not done.written:
            say(ALREADY.format(called))
        say(f"Held out: {design_of(each).summary(each)}.")
        counts = ", ".join(f"{split} {n:,}" for split, n in made[called].items())
        say(f"Scenes: {counts}. Next: gen verify {shown(dataset)} --benchmark {called}")
    first = next(iter(made))
    data = {"dataset": shown(dataset), "benchmark": first, "scenes": made[first], "benchmarks": made}
    result(data, as_json, "\n".join(made))
