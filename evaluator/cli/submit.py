"""The commands of leaderboards: `score submit`, `score leaderboard`, `score rerun`, `score commit`
and `score challenge` (docs/leaderboard.md)."""

import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from evaluator.cli.options import DEVICE, FILE, FOLDER, JSON, NEW_FOLDER, SEED
from generator.base.commands import Bar, Command, Number, result, say
from generator.base.errors import UserError
from generator.base.paths import split_name

_REFUSED = 1
"""Exit status of a board that refuses a submission, as of `gen verify` with a finding."""
_ITEMS = 60
"""Items that are asked again: if all are equal, at most 4.9% of all are altered."""
_TOLERANCE = 0.05
"""Share of the standard deviation of scores within which they count as equal: other processors and
bfloat16 move a score by less, and answers at random by more."""


@click.command(
    cls=Command,
    examples=[
        "submit results-suite --model CLIP --out clip",
        "submit run-a run-b --name mine --out mine",
    ],
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=FOLDER)
@click.option("--out", type=NEW_FOLDER, required=True, help="Folder to write.")
@click.option(
    "--model", help="Submit only the runs of the model of this name, as `score suite` calls it."
)
@click.option("--name", help="Name of the model on the board.  [default: its SPEC, without paths]")
@click.option(
    "--opening",
    type=FILE,
    help="The secret file of `score commit`, for runs that answer a challenge.",
)
@JSON
def submit(
    runs: tuple[Path, ...],
    out: Path,
    model: str | None,
    name: str | None,
    opening: Path | None,
    as_json: bool,
) -> None:
    """Make one folder of the runs of a model, to send to a leaderboard.

    Each of RUN... is the folder of a run, or a folder that holds runs, as `score suite` writes it.
    The submission has scores, answers, versions, digests and what training saw, and nothing of your
    machine. It is checked as `score leaderboard` checks it.
    """
    from evaluator.submissions.finding import find_runs

    # Before libraries are imported, which takes seconds.
    find_runs(runs)

    from evaluator.submissions.commitments import read_opening
    from evaluator.submissions.write import open_sources, write_submission

    opened = None if opening is None else read_opening(opening)
    record = write_submission(open_sources(runs, model), out, name=name, opening=opened)
    n_runs = len(record["runs"])
    plural = "s" * (n_runs > 1)
    say(f"{n_runs:,} run{plural} of {record['name']}: every number follows from the scores.")
    result({"submission": str(out), **record}, as_json, str(out))


@click.command(
    cls=Command,
    common=("out", "moved", "pools_forms"),
    examples=[
        "leaderboard run-a run-b --out site",
        "leaderboard clip siglip --dataset suite --out site",
        "leaderboard results/jackalope-1 --pool-forms --out site",
    ],
)
@click.argument("sources", nargs=-1, required=True, metavar="FOLDER...")
@click.option("--out", type=NEW_FOLDER, required=True, help="Folder to write the site to.")
@click.option(
    "--dataset",
    "moved",
    type=FOLDER,
    multiple=True,
    help="Folder of a dataset, or of a suite, that submissions answer; its images are not needed. "
    "Of plain runs, a dataset that was moved. Can be repeated.",
)
@click.option(
    "--receipts",
    type=FOLDER,
    multiple=True,
    help="Your folder of receipts of `score rerun`. Can be repeated.",
)
@click.option(
    "--challenges",
    type=FOLDER,
    multiple=True,
    help="Your folder of `score challenge`. Can be repeated.",
)
@click.option(
    "--pool-forms",
    "pools_forms",
    is_flag=True,
    help="Also compare models over the forms of a suite; intervals have the spread of forms.",
)
@click.option("--title", help="Title of the site.  [default: the suite]")
@JSON
@click.pass_context
def leaderboard(
    context: click.Context,
    sources: tuple[str, ...],
    out: Path,
    moved: tuple[Path, ...],
    receipts: tuple[Path, ...],
    challenges: tuple[Path, ...],
    pools_forms: bool,
    title: str | None,
    as_json: bool,
) -> None:
    """Make a static site that compares many models, with a page for each.

    Each of FOLDER... is a submission of `score submit`, a run ([NAME=]RUN), or the folder of a
    board: it holds submissions, and may hold the folders questions (your datasets), receipts and
    challenges. All results are computed again from scores. What does not match is refused, and each
    row is marked self-reported, re-run or challenged (docs/leaderboard.md). Folders with the
    results.json of `score suite` are shown apart, as published.

    Without submissions, RUN... must be of one benchmark. Runs of one model are pooled over block
    seeds and training seeds.
    """
    _check_folders(sources)
    from evaluator.submissions.assemble import BoardSources, assemble, find_sources

    options = BoardSources(submissions=(), datasets=moved, receipts=receipts, challenges=challenges)
    found_sources = find_sources(sources, options)
    # Plain runs alone need no organiser and no forms: the site of `score report` in the plural.
    if not found_sources.submissions and not found_sources.published:
        _write_site_of_runs(sources, out, moved, as_json)
        return
    from evaluator.submissions.pages import board_as_text, describe_refusals, write_board

    # Every run is measured anew from its scores; no table of a sender is read.
    with tempfile.TemporaryDirectory() as tables:
        board = assemble(found_sources, Path(tables))
        pages = write_board(board, out, title=title or _title_of(board), pools_forms=pools_forms)
    for line in describe_refusals(board.refused):
        say(line)
    data = {"pages": [str(page) for page in pages], "refused": board.refused}
    if not as_json:
        say(board_as_text(out))
    result(data, as_json, str(pages[0]))
    # The site is written all the same, without what was refused; the status tells a script.
    if board.refused:
        context.exit(_REFUSED)


def _check_folders(sources: Sequence[str]) -> None:
    """Raise UserError for what is not there or has no record, before libraries are imported."""
    for source in sources:
        folder = split_name(source)[1]
        if not folder.exists():
            raise UserError(
                f"{folder} is not a finished run; give a folder written by `score run`, or a "
                f"submission."
            )
        # A run and a submission have their record in the folder, a board those of its entries
        # below.
        has_record = any(folder.glob("*.json")) or any(folder.glob("*/*.json"))
        if folder.is_dir() and not has_record:
            raise UserError(
                f"{folder} holds no run and no submission; make one in it with `score submit "
                f"RUN... --out {folder}/NAME`."
            )


def _write_site_of_runs(
    runs: tuple[str, ...], out: Path, moved: tuple[Path, ...], as_json: bool
) -> None:
    """Write the site of plain runs on one benchmark."""
    from evaluator.report.site import write_site

    pages = write_site(runs, out, moved)
    result({"pages": [str(page) for page in pages]}, as_json, str(pages[0]))


def _title_of(board: Any) -> str:
    """The title of a board: its suites, or their lack."""
    suites = dict.fromkeys(f"{form.suite}-{form.version}" for form in board.forms if form.suite)
    suites |= dict.fromkeys(result.suite.full_name for result in board.published)
    return ", ".join(suites) or "Does it compose, or remember?"


@click.command(
    cls=Command,
    common=("spec", "number", "receipts", "moved"),
    examples=[
        "rerun clip --model open_clip:ViT-B-32@openai --dataset suite --receipts receipts",
        "rerun mine --model 'jackalope:models/{world}/{turn}' -k 200 --dataset suite "
        "--receipts receipts",
    ],
)
@click.argument("submission", type=FOLDER)
@click.option(
    "--model",
    "spec",
    required=True,
    help="Model as for `score run`. {turn}, {world}, {track} and {seed} (of training) stand for "
    "those of each run.",
)
@click.option(
    "-k",
    "number",
    type=click.IntRange(min=1),
    default=_ITEMS,
    help="Number of random items to ask again, equally many of each run.",
)
@click.option(
    "--seed",
    type=SEED,
    help="Seed of the draw; nobody should know it before the submission.  [default: random]",
)
@click.option(
    "--dataset",
    "moved",
    type=FOLDER,
    multiple=True,
    required=True,
    help="Folder of a dataset, or of a suite, with its images. Can be repeated.",
)
@click.option(
    "--receipts", type=NEW_FOLDER, required=True, help="Your folder to write the receipt to."
)
@click.option(
    "--tolerance",
    type=Number(0, 0.999),
    default=_TOLERANCE,
    help="Scores count as equal that differ by at most this share of their standard deviation.",
)
@click.option(
    "--differing",
    "most_different",
    type=click.IntRange(min=0),
    default=0,
    help="Items that may differ, for models that do not repeat their answers exactly.",
)
@DEVICE
@JSON
@click.pass_context
def rerun(
    context: click.Context,
    submission: Path,
    spec: str,
    number: int,
    seed: int | None,
    moved: tuple[Path, ...],
    receipts: Path,
    tolerance: float,
    most_different: int,
    device: str | None,
    as_json: bool,
) -> None:
    """Ask the model of SUBMISSION random items again, and write a receipt.

    For whoever runs the board. The receipt says how many items are equal within the tolerance, and
    whether the model is that of the submission; `score leaderboard` reads it. Exits with 1 if
    something differs.
    """
    from evaluator.models.registry import read_spec

    # Before the submission is checked, which may take a minute.
    read_spec(spec)

    from evaluator.submissions.checks import check_submission
    from evaluator.submissions.forms import open_datasets
    from evaluator.submissions.read import read_submission
    from evaluator.submissions.receipts import describe_receipt, run_again, write_receipt

    opened = read_submission(submission)
    with tempfile.TemporaryDirectory() as tables:
        runs = check_submission(opened, open_datasets(moved), Path(tables))
        receipt = run_again(
            opened,
            runs,
            spec,
            number=number,
            # A seed that the sender could foresee would tell which items must be right.
            seed=secrets.randbelow(1 << 32) if seed is None else seed,
            tolerance=tolerance,
            most_different=most_different,
            device=device,
            progress=Bar(),
        )
    path = write_receipt(receipt, receipts)
    say(describe_receipt(receipt, opened))
    result({"receipt": str(path), **receipt}, as_json, str(path))
    if not receipt["equal"]:
        context.exit(_REFUSED)


@click.command(
    cls=Command, examples=["commit open_clip:ViT-B-32@openai --name CLIP --out commitment"]
)
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("--name", required=True, help="Name of the model on the board.")
@click.option(
    "--out",
    type=NEW_FOLDER,
    required=True,
    help="Folder for commitment.json, to be sent, and opening.json, to be kept secret.",
)
@DEVICE
@JSON
def commit(
    models: tuple[str, ...], name: str, out: Path, device: str | None, as_json: bool
) -> None:
    """Commit to a model before a challenge is drawn.

    Writes a digest of the weights of MODEL... with a random salt. Several MODEL... are the models
    of several turns: all of them must answer the challenge.
    """
    from evaluator.submissions.commitments import make_promise, write_promise
    from evaluator.submissions.loading import describe_models

    promise = make_promise(describe_models(models, device), name)
    path = write_promise(promise, out)
    say(f"Send {path}, and keep {path.with_name('opening.json')} until you submit.")
    result({"files": [str(path)], **promise.commitment}, as_json, str(path))


@click.command(
    cls=Command,
    common=("suite", "part", "challenges"),
    examples=["challenge a.json b.json --suite jackalope-1 --part full --challenges challenges"],
)
@click.argument("commitments", nargs=-1, required=True, metavar="COMMITMENT...", type=FILE)
@click.option("--suite", required=True, help="The suite as NAME-VERSION, such as jackalope-1.")
@click.option("--part", default="full", help="The part of the suite.")
@click.option(
    "--challenges",
    type=NEW_FOLDER,
    required=True,
    help="Your folder of challenges, which the new one is added to.",
)
@JSON
def challenge(
    commitments: tuple[Path, ...], suite: str, part: str, challenges: Path, as_json: bool
) -> None:
    """Draw a new form of a suite for models that were committed before.

    For whoever runs the board. COMMITMENT... are the files that senders sent. The seed is drawn
    from the entropy of the system. Publish the file: it names the commitments and the challenge
    before it.
    """
    from evaluator.submissions.commitments import draw_challenge, read_commitment

    name, _, version = suite.rpartition("-")
    if not name or not version.isdigit():
        raise UserError(f"Expected --suite as NAME-VERSION, such as jackalope-1, got '{suite}'.")
    read = [read_commitment(path) for path in commitments]
    path, record = draw_challenge(read, challenges, suite=name, version=version, part=part)
    say(
        f"Challenge {record['number']} is {record['form']}. Next: gen suite {suite} --part {part} "
        f"--fresh {record['seed']}"
    )
    result({"challenge": str(path), **record}, as_json, str(path))
