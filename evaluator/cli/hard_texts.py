"""The command `score hard-texts`."""

from collections.abc import Sequence
from pathlib import Path

import click

from evaluator.cli.options import FILE, NEW_FILE, SEED
from generator.base.commands import Command, say
from generator.base.errors import UserError


@click.command("hard-texts", cls=Command, examples=["hard-texts captions.jsonl --out hard.jsonl"])
@click.argument("corpus", type=FILE)
@click.option(
    "--out", type=NEW_FILE, required=True, help="File of JSON lines to write, for score train."
)
@click.option(
    "--seed",
    type=SEED,
    default=0,
    help="Seed of the choice among several possible texts of a caption.",
)
def hard_texts(corpus: Path, out: Path, seed: int) -> None:
    """Add hard negatives and positives to the captions of CORPUS, a file of JSON lines with `image`
    and `caption`.

    Exchanges or replaces whole words of noun phrases. Whether a negative is false of its image is
    not known.
    """
    from evaluator.training.hard_texts import add_hard_texts
    from generator.base.extras import check_installed
    from generator.base.files import write_text
    from generator.base.limits import MOST_LIST, read_text

    check_installed("textblob")  # for the noun phrases of captions
    try:
        text = read_text(corpus, MOST_LIST)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{corpus} cannot be read ({error}); give a file of JSON lines.") from None
    # Not splitlines: it would also break a caption at other separators, such as U+2028.
    lines = add_hard_texts(text.split("\n"), corpus=str(corpus), seed=seed)
    write_text(out, "".join(f"{line}\n" for line in lines))
    say(
        f"{out}: {len(lines):,} captions, {_count_with('negatives', lines):,} with a negative and "
        f"{_count_with('positives', lines):,} with a positive. "
        "The images must lie beside it."
    )


def _count_with(entry: str, lines: Sequence[str]) -> int:
    """How many lines of JSON have texts under an entry, such as `negatives`."""
    # The lines are those of `add_hard_texts`, which writes an entry without texts as {}.
    return sum(f'"{entry}": {{}}' not in line for line in lines)
