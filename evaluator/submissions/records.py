"""Types of the files of submissions, commitments, challenges and receipts (docs/leaderboard.md)."""

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

SUBMISSION_FORMAT = "jackalope-submission/1"
COMMITMENT_FORMAT = "jackalope-commitment/1"
OPENING_FORMAT = "jackalope-opening/1"
CHALLENGE_FORMAT = "jackalope-challenge/1"
RECEIPT_FORMAT = "jackalope-receipt/1"

SUBMISSION_FILE = "submission.json"
"""The manifest in the folder of a submission."""
RUNS_FOLDER = "runs"
"""The folder of a submission that has its runs."""
POOLS_FOLDER = "pools"
"""The folder of a run with the scores of pools."""
CLAIMS_FILE = "claims.json"
"""The numbers of a run as its sender computed them, in the folder of the run."""

# The files come from anybody, so that texts, lists and numbers have bounds.
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""SHA-256, in hexadecimal."""
Count = Annotated[int, Field(ge=0, lt=1 << 63)]
"""A number of items or the like."""
Seed = Annotated[int, Field(ge=0, lt=1 << 32)]
"""A seed of a suite."""
Text = Annotated[str, Field(max_length=500)]
"""A short text that the board shows."""
Name = Annotated[str, Field(min_length=1, max_length=100)]
"""The name of a model."""


class FormRecord(TypedDict):
    """Which form of a suite a dataset belongs to."""

    suite: Text
    """Name of the suite; "" for a dataset of no suite."""
    version: Text
    """Version of the suite; "" for none."""
    part: Text
    """Part of the suite, such as full or tiny; "" for none."""
    form: Text
    """`standard`, `fresh-SEED`, or for a dataset of no suite `dataset` and the start of its
    digest."""


class SubmittedTraining(TypedDict):
    """What the training of a model saw, as its run recorded it. The sender claims all of it."""

    status: Text
    """Status with respect to the benchmark (evaluator.provenance.contamination)."""
    saw: Text
    """`unknown`, `none`, `texts of the run`, or `recorded`: then the digests are known."""
    benchmark: Digest | None
    """Digest of the benchmark that the model was trained on; None if that is not recorded."""
    world: Digest | None
    """Digest of the world of that benchmark; None if that is not recorded."""
    held_out: Text
    """What that benchmark holds out, in words; "" if nothing, `unknown` if that is not known."""


class SubmittedRun(TypedDict):
    """A run of a submission."""

    folder: Text
    """Its folder in the submission."""
    form: FormRecord
    """The form that was asked."""
    track: Text
    """Track of the suite; "" for a dataset of no suite."""
    world: Text
    """World of the track; for a dataset of no suite the name of the benchmark."""
    benchmark_name: Text
    """Name of the benchmark, such as a turn."""
    benchmark: Digest
    """Digest of the benchmark."""
    world_digest: Digest
    """Digest of the world."""
    model: Digest
    """Digest of the model that answered (evaluator.submissions.identity)."""
    training: SubmittedTraining
    """What its training saw."""


class ModelDescription(TypedDict):
    """The model of a submission."""

    specs: Annotated[list[Text], Field(max_length=2000)]
    """How to load it, without paths and hosts; one for each model of a turn."""
    revision: Text
    """Revision of the weights on a hub; `unknown` if none is named."""
    weights: Annotated[list[Text], Field(max_length=2000)]
    """Digests of the weights; `none` for models without weights here."""


class Opening(TypedDict):
    """What opens a commitment. Secret until the model is submitted."""

    format: Text
    """OPENING_FORMAT."""
    salt: Digest
    """256 random bits, so that nobody can guess the model from the commitment."""
    models: Annotated[list[Digest], Field(min_length=1, max_length=1000)]
    """Digests of the models (evaluator.submissions.identity), sorted."""


class Commitment(TypedDict):
    """A promise about models, sent to the organiser before the challenge."""

    format: Text
    """COMMITMENT_FORMAT."""
    name: Name
    """Name of the model on the board."""
    commitment: Digest
    """SHA-256 of the opening."""
    date: Text
    """Day of the promise (UTC), by the clock of the sender."""


class ChallengedCommitment(TypedDict):
    """A commitment that is challenged."""

    name: Name
    """Name of the model on the board."""
    commitment: Digest
    """SHA-256 of the opening."""


class Challenge(TypedDict):
    """A form that was drawn after commitments had come."""

    format: Text
    """CHALLENGE_FORMAT."""
    number: Count
    """Place among the challenges of the organiser, from 1."""
    previous: Text
    """SHA-256 of the file of the challenge before; "" for the first."""
    date: Text
    """Time of the draw (UTC), by the clock of the organiser."""
    suite: Text
    """Name of the suite."""
    version: Text
    """Version of the suite."""
    part: Text
    """Part of the suite."""
    seed: Seed
    """The seed, from the entropy of the organiser's system."""
    form: Text
    """The form of that seed, `fresh-SEED`."""
    commitments: Annotated[list[ChallengedCommitment], Field(min_length=1, max_length=1000)]
    """The commitments that had come."""


class ReceiptedRun(TypedDict):
    """What asking a model again showed of one run."""

    folder: Text
    """The folder of the run in the submission."""
    model: Digest
    """Digest of the model that the organiser loaded."""
    items: Count
    """Items that were asked again."""
    equal: Count
    """Items whose scores or answers are equal within the tolerance."""
    of: Count
    """Items that were drawn from."""


class Receipt(TypedDict):
    """What the organiser found when asking a model again."""

    format: Text
    """RECEIPT_FORMAT."""
    submission: Digest
    """SHA-256 of submission.json."""
    name: Name
    """Name of the model."""
    date: Text
    """Day (UTC)."""
    seed: Seed
    """Seed of the draw of items."""
    tolerance: Annotated[float, Field(ge=0, lt=1)]
    """Scores are equal that differ by at most this share of the standard deviation of the run's
    scores."""
    runs: Annotated[list[ReceiptedRun], Field(min_length=1)]
    """Each run that was asked again."""
    equal: bool
    """Whether all items agree, and the models are those of the submission."""
    digest: Digest
    """SHA-256 of the receipt without this entry."""


class ClaimedRow(TypedDict):
    """A number of a run as its sender computed it."""

    labels: list[str | int | None]
    """The labels of the row (evaluator.analysis.pooling.POOLED_BY)."""
    value: float | None
    """The value."""
    items: int
    """The number of items."""


class Claims(TypedDict):
    """The contents of CLAIMS_FILE."""

    rows: Annotated[list[ClaimedRow], Field(max_length=100_000)]
    """All rows of the results."""


class SubmissionRecord(TypedDict):
    """The contents of SUBMISSION_FILE."""

    format: Text
    """SUBMISSION_FORMAT."""
    name: Name
    """Name of the model on the board."""
    date: Text
    """Day (UTC), by the clock of the sender."""
    model: ModelDescription
    """The model."""
    versions: Annotated[dict[Text, Text], Field(max_length=100)]
    """Versions of the code that scored, by package."""
    runs: Annotated[list[SubmittedRun], Field(min_length=1, max_length=2000)]
    """The runs."""
    files: dict[str, Digest]
    """SHA-256 of every other file, by its path from the folder."""
    opening: NotRequired[Opening]
    """What opens the commitment; absent for models that were not challenged."""
