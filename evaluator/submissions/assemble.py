"""Read everything that a board is made of: submissions and plain runs, the organiser's datasets,
receipts and challenges; and decide what is refused and what is marked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

from evaluator.submissions.checks import CheckedRun, check_plain_run, check_submission
from evaluator.submissions.commitments import read_challenges
from evaluator.submissions.copies import has_same_answers
from evaluator.submissions.declared import QuestionKey, declared_questions
from evaluator.submissions.forms import Form, PlacedDataset, open_datasets
from evaluator.submissions.marks import (
    SELF,
    Mark,
    MarkedForm,
    check_receipt,
    commitment_of,
    mark_form,
    unanswered,
)
from evaluator.submissions.ranking import Entrant
from evaluator.submissions.read import Submission, is_submission, read_submission
from evaluator.submissions.receipts import read_receipts
from evaluator.submissions.records import Challenge, Receipt
from evaluator.suite.published import published_in, read_published
from evaluator.suite.results import SuiteResult
from generator.base.errors import UserError, one_line
from generator.base.paths import split_name
from generator.suite.record import is_suite

QUESTIONS, RECEIPTS, CHALLENGES = "questions", "receipts", "challenges"
"""Folders of a board beside its submissions: the organiser's datasets (a suite, or a folder for
each form, without images), receipts and challenges."""
_DIGITS = 8
"""Digits of a digest that tell submissions of one name apart."""


@dataclass(frozen=True, kw_only=True)
class BoardSources:
    """What a board is made from."""

    submissions: Sequence[Path]
    """Folders of submissions."""
    runs: Sequence[str] = ()
    """Plain runs, [NAME=]FOLDER."""
    datasets: Sequence[Path] = ()
    """Datasets and suites of the organiser."""
    receipts: Sequence[Path] = ()
    """The organiser's folders of receipts."""
    challenges: Sequence[Path] = ()
    """The organiser's folders of challenges."""
    published: Sequence[Path] = ()
    """Folders of published results of suites, without scores."""


@dataclass(frozen=True, kw_only=True)
class Board:
    """A checked board."""

    entrants: Sequence[Entrant]
    """The models."""
    refused: dict[str, str] = field(default_factory=dict)
    """By folder of a submission, the sentence why it is refused."""
    declared: dict[tuple[Form, str], set[QuestionKey]] = field(default_factory=dict)
    """By form and track, the questions that count, where a suite says it."""
    unanswered: dict[str, int] = field(default_factory=dict)
    """By name of a model, the challenges that it did not answer."""
    published: Sequence[SuiteResult] = ()
    """Published results, of which nothing can be computed again."""

    @property
    def forms(self) -> list[Form]:
        """The forms that its models answer: of each suite the standard form first."""
        forms = {run.place.form for entrant in self.entrants for run in entrant.runs}
        return sorted(forms, key=lambda form: (form.suite, form.part, not form.is_standard, form))


def find_sources(arguments: Sequence[str], sources: BoardSources) -> BoardSources:
    """Sort what a user gave into submissions, plain runs, and folders of boards.

    Args:
        arguments: Submissions, plain runs [NAME=]FOLDER, published results, or folders of boards,
            which hold submissions, published results and the folders QUESTIONS, RECEIPTS and
            CHALLENGES.
        sources: What else was given.

    Returns:
        All sources.
    """
    submissions = list(sources.submissions)
    runs = list(sources.runs)
    datasets = list(sources.datasets)
    receipts = list(sources.receipts)
    challenges = list(sources.challenges)
    published = list(sources.published)
    for argument in arguments:
        _, folder = split_name(argument)
        inside = _submissions_in(folder)
        published_inside = published_in(folder)
        if is_submission(folder):
            submissions.append(folder)
        # A run can lie in the folder of a board, and may itself have folders.
        elif (inside or published_inside) and not (folder / "run.json").exists():
            submissions += inside
            published += published_inside
            datasets += _questions_in(folder / QUESTIONS)
            for name, own_folders in ((RECEIPTS, receipts), (CHALLENGES, challenges)):
                if (folder / name).is_dir():
                    own_folders.append(folder / name)
        else:
            runs.append(argument)
    return BoardSources(
        submissions=submissions,
        runs=runs,
        datasets=datasets,
        receipts=receipts,
        challenges=challenges,
        published=published,
    )


def assemble(sources: BoardSources, tables: Path) -> Board:
    """Check all sources of a board.

    Args:
        sources: The sources.
        tables: An empty folder for tables of items, which must exist while the board is used.

    Returns:
        The board. A submission that does not match is refused with a sentence; the others stay.

    Raises:
        UserError: The organiser's own files are damaged, a plain run or published results cannot be
            read, or nothing is left.
    """
    datasets = open_datasets(sources.datasets)
    receipts: dict[str, Receipt] = {}
    for folder in sources.receipts:
        receipts |= read_receipts(folder)
    challenges: list[Challenge] = []
    for folder in sources.challenges:
        challenges += read_challenges(folder)

    checked, refused = _check_all(
        sources.submissions, datasets, receipts=receipts, challenges=challenges, tables=tables
    )
    entrants = []
    names = _distinct_names([submission for submission, _ in checked])
    for name, (submission, runs) in zip(names, checked, strict=True):
        entrants.append(
            Entrant(
                name=name,
                submission=submission,
                runs=runs,
                marks=_marks_of(submission, runs, receipts=receipts, challenges=challenges),
                unranked="",
            )
        )
    entrants += _plain_entrants(sources.runs, datasets, tables)
    published = [read_published(folder) for folder in sources.published]
    if not entrants and not published:
        reasons = " ".join(refused.values())
        raise UserError(f"No submission is left: {reasons or 'none was given.'}")
    return Board(
        entrants=_without_copies(entrants),
        refused=refused,
        declared=declared_questions(datasets),
        unanswered=dict(unanswered(challenges, [submission for submission, _ in checked])),
        published=published,
    )


def _check_all(
    folders: Sequence[Path],
    datasets: Sequence[PlacedDataset],
    *,
    receipts: dict[str, Receipt],
    challenges: Sequence[Challenge],
    tables: Path,
) -> tuple[list[tuple[Submission, list[CheckedRun]]], dict[str, str]]:
    """Check submissions.

    Returns: The submissions that match, with their runs; and by folder of the others, why they are
    refused.
    """
    refused: dict[str, str] = {}
    checked: list[tuple[Submission, list[CheckedRun]]] = []
    opened: dict[str, str] = {}
    # One submission after another: what is wrong with one is said and the others stay.
    for folder in _receipted_first(folders, receipts, refused):
        try:
            submission = read_submission(folder)
            check_receipt(submission, receipts.get(submission.digest))
            _check_opened_once(submission, opened)
            runs = check_submission(submission, datasets, tables)
            # The promise is checked here, so that a broken one is refused with the others.
            _marks_of(submission, runs, receipts=receipts, challenges=challenges)
        except UserError as error:
            refused[str(folder)] = error.message
            continue
        commitment = commitment_of(submission)
        # Only after all checks, so that a refused submission does not use a commitment up.
        if commitment is not None:
            opened[commitment] = submission.name
        checked.append((submission, runs))
    return checked, refused


def _submissions_in(folder: Path) -> list[Path]:
    """The submissions in a folder, sorted."""
    if not folder.is_dir():
        return []
    submissions = []
    for path in folder.glob("[!.]*"):
        if path.is_dir() and is_submission(path):
            submissions.append(path)
    return sorted(submissions)


def _questions_in(folder: Path) -> list[Path]:
    """The suites and datasets of a board: the folder itself, or the folders in it, one for each
    form."""
    if not folder.is_dir():
        return []
    if is_suite(folder) or (folder / "world").is_dir():
        return [folder]
    return sorted(path for path in folder.glob("[!.]*") if path.is_dir())


def _receipted_first(
    folders: Sequence[Path], receipts: dict[str, Receipt], refused: dict[str, str]
) -> list[Path]:
    """The submissions, those with a receipt first: of two that open one commitment, the confirmed
    one stays. Submissions that cannot be read are added to `refused`."""
    first: list[Path] = []
    others: list[Path] = []
    for folder in dict.fromkeys(folders):
        try:
            digest = read_submission(folder).digest
        except UserError as error:
            refused[str(folder)] = error.message
            continue
        (first if digest in receipts else others).append(folder)
    return [*first, *others]


def _check_opened_once(submission: Submission, opened: dict[str, str]) -> None:
    """Raise UserError if another submission opens the same commitment: one of them was chosen."""
    commitment = commitment_of(submission)
    if commitment in opened:
        raise UserError(
            f"{submission.name} opens the commitment that {opened[str(commitment)]} opens too; a "
            f"commitment counts for one submission."
        )


def _marks_of(
    submission: Submission,
    runs: Sequence[CheckedRun],
    *,
    receipts: dict[str, Receipt],
    challenges: Sequence[Challenge],
) -> dict[Form, MarkedForm]:
    """The mark of a submission on each of its forms."""
    marks = {}
    for form in {run.place.form for run in runs}:
        of_form = [run for run in runs if run.place.form == form]
        marks[form] = mark_form(
            submission,
            form,
            of_form,
            receipt=receipts.get(submission.digest),
            challenges=challenges,
        )
    return marks


def _distinct_names(submissions: Iterable[Submission]) -> list[str]:
    """A name for each submission; submissions of one name are told apart by their digests."""
    submissions = list(submissions)
    names = [submission.name for submission in submissions]
    distinct = []
    for submission, name in zip(submissions, names, strict=True):
        is_shared = names.count(name) > 1
        distinct.append(f"{name} [{submission.digest[:_DIGITS]}]" if is_shared else name)
    return distinct


def _plain_entrants(
    arguments: Sequence[str], datasets: Sequence[PlacedDataset], tables: Path
) -> list[Entrant]:
    """The models of plain runs; runs of one name belong to one model."""
    runs_of: dict[str, list[CheckedRun]] = {}
    moved = [placed.dataset.root for placed in datasets]
    for argument in arguments:
        own_name, folder = split_name(argument)
        run = check_plain_run(folder, moved, tables)
        name = one_line(own_name or str(run.run.record["model"]))
        runs_of.setdefault(name, []).append(run)
    entrants = []
    for name, runs in runs_of.items():
        marks = {run.place.form: SELF for run in runs}
        entrants.append(
            # The user's own run may have the name of a submission.
            Entrant(name=f"{name} (run)", submission=None, runs=runs, marks=marks, unranked="")
        )
    return entrants


def _without_copies(entrants: Sequence[Entrant]) -> list[Entrant]:
    """The models, of which those with each other's answers have no rank until one of them is
    confirmed: nobody else can know which is the original."""
    reasons: dict[str, str] = {}
    for first, second in combinations(entrants, 2):
        if not has_same_answers(first.runs, second.runs):
            continue
        for one, other in ((first, second), (second, first)):
            if not _is_confirmed(one):
                reasons.setdefault(one.name, f"It has the answers of {other.name}.")
    return [replace(entrant, unranked=reasons.get(entrant.name, "")) for entrant in entrants]


def _is_confirmed(entrant: Entrant) -> bool:
    """Whether the organiser has asked the model again."""
    return all(mark.mark != Mark.SELF_REPORTED for mark in entrant.marks.values())
