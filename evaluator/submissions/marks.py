"""The mark of a row of the board: how far it can be believed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from evaluator.submissions.checks import CheckedRun
from evaluator.submissions.commitments import find_challenge
from evaluator.submissions.digests import digest_of
from evaluator.submissions.forms import Form
from evaluator.submissions.read import Submission
from evaluator.submissions.receipts import most_altered
from evaluator.submissions.records import Challenge, Receipt
from generator.base.errors import UserError, one_line


class Mark(StrEnum):
    """How far a row can be believed, weakest first (docs/leaderboard.md, Marks)."""

    SELF_REPORTED = "self-reported"
    """The numbers follow from the scores, which the sender made."""
    RE_RUN = "re-run"
    """The organiser asked the model random items again, with equal results."""
    CHALLENGED = "challenged"
    """Re-run, on a form that was drawn after the model was committed."""


@dataclass(frozen=True)
class MarkedForm:
    """The mark of the runs of a submission on one form."""

    mark: Mark
    """The mark."""
    why: str
    """What gave the mark, or what is missing for a stronger one; a sentence."""


SELF = MarkedForm(Mark.SELF_REPORTED, "Nobody but the sender has asked this model.")


def check_receipt(submission: Submission, receipt: Receipt | None) -> None:
    """Refuse a submission that asking again did not confirm.

    Args:
        submission: The submission.
        receipt: Its receipt; None without one.

    Raises:
        UserError: The receipt says that something differs.
    """
    if receipt is None or receipt["equal"]:
        return
    n_asked = sum(run["items"] for run in receipt["runs"])
    n_equal = sum(run["equal"] for run in receipt["runs"])
    raise UserError(
        f"{submission.name} was asked again on {receipt['date']}, and is not confirmed: "
        f"{n_equal:,} of {n_asked:,} items agree, or the model is another one."
    )


def mark_form(
    submission: Submission,
    form: Form,
    runs: Sequence[CheckedRun],
    *,
    receipt: Receipt | None,
    challenges: Sequence[Challenge],
) -> MarkedForm:
    """Mark the runs of a submission on one form.

    Args:
        submission: The submission.
        form: The form, as the organiser's datasets say it.
        runs: Its checked runs on this form.
        receipt: The organiser's receipt, which confirms the submission; None without one.
        challenges: The challenges of the organiser.

    Returns:
        The mark.

    Raises:
        UserError: The submission opens a commitment, and its runs on the challenged form are not
            those that were promised.
    """
    challenge = None
    opening = submission.record.get("opening")
    if opening is not None:
        challenge = find_challenge(opening, form, challenges)
    # Checked before the receipt: a broken promise refuses the submission, whoever has asked the
    # model.
    if challenge is not None:
        _check_promise(submission, runs, challenge)
    receipted = _receipted(runs, receipt)
    if receipted is None:
        if challenge is not None:
            return MarkedForm(
                Mark.SELF_REPORTED,
                f"The form was drawn after the commitment (challenge {challenge['number']}), but "
                f"nobody but the sender has asked this model.",
            )
        return SELF
    n_asked, n_equal = receipted
    bound = most_altered(n_asked, n_asked - n_equal)
    confirmed = (
        f"{n_equal:,} of {n_asked:,} random items asked again are equal: at most {bound:.1%} of "
        f"the items are altered (95%)"
    )
    if challenge is None:
        return MarkedForm(Mark.RE_RUN, f"{confirmed}.")
    return MarkedForm(
        Mark.CHALLENGED,
        f"{confirmed}. The form was drawn on {challenge['date']} (UTC), after the commitment "
        f"(challenge {challenge['number']}).",
    )


def commitment_of(submission: Submission) -> str | None:
    """Compute the commitment that a submission opens.

    Args:
        submission: The submission.

    Returns:
        Its digest; None if it opens none.
    """
    opening = submission.record.get("opening")
    return None if opening is None else digest_of(opening)


def unanswered(
    challenges: Sequence[Challenge], submissions: Sequence[Submission]
) -> Mapping[str, int]:
    """Find models that were challenged and did not come back.

    A sender could commit to many models and submit only the best of them.

    Args:
        challenges: The challenges of the organiser.
        submissions: The submissions of the board.

    Returns:
        By name, how many of its challenges have no submission.
    """
    opened = {commitment_of(submission) for submission in submissions}
    numbers: dict[str, int] = {}
    for challenge in challenges:
        for entry in challenge["commitments"]:
            if entry["commitment"] not in opened:
                name = one_line(entry["name"])
                numbers[name] = numbers.get(name, 0) + 1
    return numbers


def _check_promise(
    submission: Submission, runs: Sequence[CheckedRun], challenge: Challenge
) -> None:
    """Raise UserError if the runs are not by the committed models, or have another name."""
    opening = submission.record["opening"]
    promised = set(opening["models"])
    answered = {run.entry["model"] for run in runs if run.entry is not None}
    if answered != promised:
        raise UserError(
            f"{submission.name} committed to {len(promised):,} models before challenge "
            f"{challenge['number']}, and answers it with others: {len(answered - promised):,} were "
            f"not committed, {len(promised - answered):,} were left out."
        )
    commitment = digest_of(opening)
    # A commitment is public until it is opened, so another sender may have copied it under a name
    # of his own.
    names = set()
    for entry in challenge["commitments"]:
        if entry["commitment"] == commitment:
            names.add(entry["name"])
    if submission.record["name"] not in names:
        raise UserError(
            f"{submission.name} opens the commitment of {one_line(min(names))}, which counts only "
            f"for that name."
        )


def _receipted(runs: Sequence[CheckedRun], receipt: Receipt | None) -> tuple[int, int] | None:
    """How many items of these runs were asked again, and how many are equal; None if a run was not
    asked."""
    if receipt is None:
        return None
    of_folder = {run["folder"]: run for run in receipt["runs"]}
    n_asked = 0
    n_equal = 0
    for run in runs:
        entry = run.entry
        # A mark is of all runs of the form: one that was not asked again could be made by hand.
        if entry is None or entry["folder"] not in of_folder:
            return None
        receipted = of_folder[entry["folder"]]
        if receipted["model"] != entry["model"] or receipted["items"] == 0:
            return None
        n_asked += receipted["items"]
        n_equal += receipted["equal"]
    return n_asked, n_equal
