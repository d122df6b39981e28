"""Receipts: what an organiser found when asking the model of a submission again.

The organiser keeps them in a folder of the board. A receipt within a submission is refused, since
its sender could write it.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scipy import stats

from evaluator.runs.folder import folder_name
from evaluator.submissions.asking_again import AskedAgain, ask_again
from evaluator.submissions.checks import CheckedRun
from evaluator.submissions.described import is_description
from evaluator.submissions.describing_again import describe_again
from evaluator.submissions.digests import digest_of
from evaluator.submissions.draw import askable_items, draw_items
from evaluator.submissions.identity import model_digest
from evaluator.submissions.public import public_value
from evaluator.submissions.read import Submission
from evaluator.submissions.records import RECEIPT_FORMAT, Receipt, ReceiptedRun, SubmittedRun
from evaluator.submissions.write import today
from generator.base.errors import UserError, one_line
from generator.base.files import read_json, write_json
from generator.base.paths import check_own_files
from generator.base.progress import SILENT, Progress
from generator.dataset.reader import TURN

TRACK, WORLD, TRAINING_SEED = "{track}", "{world}", "{seed}"
"""Stand in a SPEC for the names of a run's track and world, and the seed of its training."""
_CONFIDENCE = 0.95
"""Of the bound on the share of altered items."""
_DIGITS = 12
"""Digits of a submission's digest in the name of its receipt."""


def run_again(
    submission: Submission,
    runs: Sequence[CheckedRun],
    spec: str,
    *,
    number: int,
    seed: int,
    tolerance: float,
    most_different: int = 0,
    device: str | None = None,
    progress: Progress = SILENT,
) -> Receipt:
    """Ask the model of a submission random items again.

    Args:
        submission: The submission.
        runs: Its checked runs, whose datasets have their images.
        spec: The SPEC of the model. `{turn}`, `{track}`, `{world}` and `{seed}` stand for those of
            each run, for models that were trained for each.
        number: Items of all runs together.
        seed: Seed of the draw.
        tolerance: Scores are equal that differ by at most this share of the standard deviation of
            the run's scores, 0..1.
        most_different: Items that may differ, for models that do not repeat their answers exactly.
        device: The device; None for the best one.
        progress: Shows the progress.

    Returns:
        The receipt, which says whether all agrees.

    Raises:
        UserError: The model cannot be loaded or asked, or there are too few items to draw.
    """
    drawn_items = draw_items(runs, number, seed)
    receipted = []
    n_different = 0
    are_same_models = True
    for run, items in zip(runs, drawn_items, strict=True):
        entry = _entry_of(run)
        own_spec = _spec_of_run(spec, run, entry)
        outcome = _ask_run_again(
            run, items, own_spec, tolerance=tolerance, device=device, progress=progress
        )
        receipted.append(_receipted_run(run, entry, outcome))
        n_different += len(items) - sum(outcome.equal.values())
        # Equal answers by another model would confirm the answers and not who gave them.
        are_same_models &= receipted[-1]["model"] == entry["model"]
    is_equal = are_same_models and n_different <= most_different
    return _signed(submission, receipted, seed=seed, tolerance=tolerance, is_equal=is_equal)


def _ask_run_again(
    run: CheckedRun,
    items: Sequence[str],
    spec: str,
    *,
    tolerance: float,
    device: str | None,
    progress: Progress,
) -> AskedAgain:
    """Ask a model some items of a run again, or to describe some of its images again."""
    # An empty folder for each run: a cache could hold the answers that are to be confirmed.
    with tempfile.TemporaryDirectory(prefix="rerun-") as name:
        folder = Path(name)
        if is_description(run.run.record):
            return describe_again(
                run.run, items, spec, device=device, folder=folder, progress=progress
            )
        return ask_again(
            run.run,
            items,
            spec,
            tolerance=tolerance,
            device=device,
            folder=folder,
            progress=progress,
        )


def _signed(
    submission: Submission,
    runs: list[ReceiptedRun],
    *,
    seed: int,
    tolerance: float,
    is_equal: bool,
) -> Receipt:
    """The receipt of a submission, with its own digest."""
    receipt: dict[str, Any] = {
        "format": RECEIPT_FORMAT,
        "submission": submission.digest,
        "name": submission.record["name"],
        "date": today(),
        "seed": seed,
        "tolerance": tolerance,
        "runs": runs,
        "equal": is_equal,
    }
    return Receipt(**receipt, digest=digest_of(receipt))  # type: ignore[typeddict-item]


def write_receipt(receipt: Receipt, folder: Path) -> Path:
    """Write a receipt into the organiser's folder.

    Args:
        receipt: The receipt.
        folder: The folder of receipts.

    Returns:
        The file. A later receipt of the same submission replaces it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    check_own_files(folder)
    path = folder / f"{folder_name(receipt['name'])}-{receipt['submission'][:_DIGITS]}.json"
    write_json(path, receipt)
    return path


def read_receipts(folder: Path) -> dict[str, Receipt]:
    """Read the receipts of an organiser.

    Args:
        folder: The folder of receipts; it need not exist.

    Returns:
        The receipt of each submission, by the digest of the submission.

    Raises:
        UserError: A receipt was changed after it was written, or two are of one submission.
    """
    receipts: dict[str, Receipt] = {}
    if not folder.exists():
        return receipts
    check_own_files(folder)
    for path in sorted(folder.glob("[!.]*.json")):
        receipt: Receipt = read_json(path, Receipt)  # type: ignore[assignment]  # shape is checked
        if receipt["format"] != RECEIPT_FORMAT:
            raise UserError(
                f"{path} has the format '{one_line(receipt['format'])}', expected "
                f"'{RECEIPT_FORMAT}'."
            )
        content = {name: value for name, value in receipt.items() if name != "digest"}
        if digest_of(content) != receipt["digest"]:
            raise UserError(
                f"{path} was changed after it was written; ask the model again with `score rerun`."
            )
        if receipt["submission"] in receipts:
            raise UserError(f"{path} is a second receipt of one submission; remove one.")
        receipts[receipt["submission"]] = receipt
    return receipts


def most_altered(n_asked: int, n_different: int) -> float:
    """Bound the share of altered items from a random draw (Clopper and Pearson, 1934).

    Args:
        n_asked: Items that were asked again.
        n_different: Items among them that differ.

    Returns:
        The upper end of the one-sided 95% interval of the share, 0..1.

    Example:
        >>> round(most_altered(60, 0), 3)
        0.049
    """
    # The quantile is not defined there.
    if n_different >= n_asked:
        return 1.0
    return float(stats.beta.ppf(_CONFIDENCE, n_different + 1, n_asked - n_different))


def describe_receipt(receipt: Receipt, submission: Submission) -> str:
    """Say what a receipt shows.

    Args:
        receipt: The receipt.
        submission: Its submission.

    Returns:
        A sentence.
    """
    n_asked = sum(run["items"] for run in receipt["runs"])
    n_equal = sum(run["equal"] for run in receipt["runs"])
    stated = {entry["folder"]: entry["model"] for entry in submission.record["runs"]}
    others = [run for run in receipt["runs"] if run["model"] != stated.get(run["folder"])]
    if others:
        return (
            f"{submission.name} is not confirmed: the model that was loaded is another one than "
            f"that of {len(others):,} of {len(receipt['runs']):,} runs, such as "
            f"{one_line(others[0]['folder'])}; {n_equal:,} of {n_asked:,} items agree."
        )
    if not receipt["equal"]:
        return (
            f"{submission.name} is not confirmed: {n_asked - n_equal:,} of {n_asked:,} items "
            f"differ when the model is asked again."
        )
    bound = most_altered(n_asked, n_asked - n_equal)
    return (
        f"{submission.name} is confirmed: {n_equal:,} of {n_asked:,} random items are equal, so at "
        f"most {bound:.1%} of all are altered (95%)."
    )


def _entry_of(run: CheckedRun) -> SubmittedRun:
    """The entry of a run of a submission."""
    assert run.entry is not None
    return run.entry


def _spec_of_run(spec: str, run: CheckedRun, entry: SubmittedRun) -> str:
    """The SPEC of the model of a run."""
    seed = "" if run.training_seed is None else run.training_seed
    name_of_pattern = {
        TURN: entry["benchmark_name"],
        TRACK: entry["track"],
        WORLD: entry["world"],
        TRAINING_SEED: str(seed),
    }
    for pattern, name in name_of_pattern.items():
        spec = spec.replace(pattern, name)
    return spec


def _receipted_run(run: CheckedRun, entry: SubmittedRun, outcome: AskedAgain) -> ReceiptedRun:
    """What asking again showed of a run."""
    return ReceiptedRun(
        folder=entry["folder"],
        model=model_digest(public_value(outcome.info)),
        items=len(outcome.equal),
        equal=sum(outcome.equal.values()),
        of=len(askable_items(run)),
    )
