"""Commit and reveal: a promise about a model, a form drawn after it, and whether a submission keeps
the promise (docs/leaderboard.md, Challenges).

1. The sender commits: SHA-256 of a random salt and the digests of the models. The commitment goes
   to the organiser, the opening stays secret.
2. The organiser draws a seed from the entropy of the system and writes a challenge, which names the
   commitments that had come. Each challenge holds the digest of the one before, so that the order
   shows and none can be removed.
3. Sender and organiser make the form of that seed with `gen suite --fresh SEED`. The sender scores
   the model and submits the runs with the opening.
4. The board computes the commitment from the opening, and the models from the runs.
"""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evaluator.submissions.digests import digest_of
from evaluator.submissions.forms import Form
from evaluator.submissions.identity import has_weights, model_digest
from evaluator.submissions.public import public_value
from evaluator.submissions.records import (
    CHALLENGE_FORMAT,
    COMMITMENT_FORMAT,
    OPENING_FORMAT,
    Challenge,
    ChallengedCommitment,
    Commitment,
    Opening,
)
from evaluator.submissions.write import today
from generator.base.errors import UserError, one_line
from generator.base.files import locked, read_json, sha256, write_json
from generator.base.paths import check_own_files

COMMITMENT_FILE, OPENING_FILE = "commitment.json", "opening.json"
"""The files of a promise: one to be sent, one to be kept secret."""
_SALT_BYTES = 32
"""Bytes of the salt, so that nobody finds out a committed model by trying known ones."""
_SEEDS = 1 << 32
"""Number of seeds of a suite."""
_CHALLENGE_FILE = "challenge-{:04}.json"
_LOCK = ".lock"
"""File of a folder of challenges that keeps two draws apart."""


@dataclass(frozen=True)
class Promise:
    """A commitment, and what opens it."""

    commitment: Commitment
    """What is sent to the organiser."""
    opening: Opening
    """What stays secret until the model is submitted."""


def make_promise(infos: Mapping[str, Mapping[str, Any]], name: str) -> Promise:
    """Commit to models.

    Args:
        infos: The description of each loaded model (`info`), by SPEC.
        name: The name of the model on the board.

    Returns:
        The promise, with a new salt.

    Raises:
        UserError: A model has no weights that could be committed to.
    """
    digests = set()
    for spec, info in infos.items():
        if not has_weights(info):
            raise UserError(
                f"{spec} has no weights here, so nothing says that it stays the same; only models "
                f"with weights can be challenged."
            )
        # In the words of a submission, from which the board computes the digest again.
        digests.add(model_digest(public_value(info)))
    opening = Opening(
        format=OPENING_FORMAT, salt=secrets.token_hex(_SALT_BYTES), models=sorted(digests)
    )
    commitment = Commitment(
        format=COMMITMENT_FORMAT, name=name, commitment=digest_of(opening), date=today()
    )
    return Promise(commitment, opening)


def write_promise(promise: Promise, folder: Path) -> Path:
    """Write the files of a promise.

    Args:
        promise: The promise.
        folder: The folder for COMMITMENT_FILE and OPENING_FILE.

    Returns:
        The file of the commitment.

    Raises:
        UserError: The folder has an opening already, which would be lost.
    """
    check_own_files(folder)
    if (folder / OPENING_FILE).exists():
        raise UserError(f"{folder} has an opening already; choose another --out.")
    folder.mkdir(parents=True, exist_ok=True)
    # The opening first: a commitment without it could never be opened.
    write_json(folder / OPENING_FILE, promise.opening)
    write_json(folder / COMMITMENT_FILE, promise.commitment)
    return folder / COMMITMENT_FILE


def read_opening(path: Path) -> Opening:
    """Read what opens a commitment.

    Args:
        path: The file that `score commit` wrote.

    Returns:
        The opening.

    Raises:
        UserError: It is damaged, or something else.
    """
    opening: Opening = read_json(path, Opening)  # type: ignore[assignment]  # its shape is checked
    _check_format(path, opening["format"], OPENING_FORMAT)
    return opening


def read_commitment(path: Path) -> Commitment:
    """Read a commitment, which may come from anyone.

    Args:
        path: The file that `score commit` wrote.

    Returns:
        The commitment.

    Raises:
        UserError: It is damaged, or something else, such as an opening.
    """
    record = read_json(path)
    if record.get("format") == OPENING_FORMAT:
        raise UserError(
            f"{path} is the secret opening; give the commitment, and keep the opening until the "
            f"model is submitted."
        )
    commitment: Commitment = read_json(path, Commitment)  # type: ignore[assignment]
    _check_format(path, commitment["format"], COMMITMENT_FORMAT)
    return commitment


def draw_challenge(
    commitments: Sequence[Commitment], folder: Path, *, suite: str, version: str, part: str
) -> tuple[Path, Challenge]:
    """Draw a form after commitments have come, and add it to the organiser's challenges.

    Args:
        commitments: The commitments; all are asked the same form, so that they can be compared.
        folder: The folder of challenges.
        suite: Name of the suite, without its version.
        version: Its version.
        part: The part of the suite that is asked.

    Returns:
        The file of the challenge, and its contents.

    Raises:
        UserError: A commitment was challenged before, or the folder is damaged.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / _LOCK, f"{folder} is in use by another command; wait until it ends."):
        # No commitment is challenged twice.
        earlier = read_challenges(folder)
        challenged = {}
        for challenge in earlier:
            for entry in challenge["commitments"]:
                challenged[entry["commitment"]] = challenge["number"]
        entries = []
        for commitment in commitments:
            digest = commitment["commitment"]
            if digest in challenged:
                raise UserError(
                    f"The commitment of {one_line(commitment['name'])} has challenge "
                    f"{challenged[digest]} already; a second form would let the sender choose."
                )
            challenged[digest] = len(earlier) + 1
            entries.append(ChallengedCommitment(name=commitment["name"], commitment=digest))
        # The form is drawn now, so that no sender knew it when committing. Each challenge names the
        # digest of the one before it, which fixes their order.
        seed = secrets.randbelow(_SEEDS)
        number = len(earlier) + 1
        previous = sha256(folder / _CHALLENGE_FILE.format(number - 1)) if earlier else ""
        record = Challenge(
            format=CHALLENGE_FORMAT,
            number=number,
            previous=previous,
            date=f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
            suite=suite,
            version=version,
            part=part,
            seed=seed,
            form=f"fresh-{seed}",
            commitments=entries,
        )
        path = folder / _CHALLENGE_FILE.format(number)
        write_json(path, record)
    return path, record


def read_challenges(folder: Path) -> list[Challenge]:
    """Read the challenges of an organiser, and check their chain.

    Args:
        folder: The folder of challenges, which the organiser keeps; it need not exist.

    Returns:
        The challenges in the order of their draws.

    Raises:
        UserError: A challenge is missing, was changed after the next was drawn, or contradicts
            itself.
    """
    if not folder.exists():
        return []
    check_own_files(folder)
    pattern = re.compile(r"challenge-\d{4,}\.json")
    names = {path.name for path in folder.iterdir() if pattern.fullmatch(path.name)}
    challenges: list[Challenge] = []
    previous = ""
    for number in range(1, len(names) + 1):
        path = folder / _CHALLENGE_FILE.format(number)
        if path.name not in names:
            raise UserError(f"{folder} lacks {path.name}, and has later challenges; restore it.")
        challenge: Challenge = read_json(path, Challenge)  # type: ignore[assignment]
        _check_format(path, challenge["format"], CHALLENGE_FORMAT)
        is_consistent = challenge["form"] == f"fresh-{challenge['seed']}"
        is_next = challenge["number"] == number and challenge["previous"] == previous
        if not (is_next and is_consistent):
            raise UserError(
                f"{path} does not follow from the challenge before it, so the order of draws is "
                f"not proven; restore the folder."
            )
        challenges.append(challenge)
        previous = sha256(path)
    return challenges


def find_challenge(
    opening: Opening, form: Form, challenges: Sequence[Challenge]
) -> Challenge | None:
    """Find the challenge that a submission answers.

    Args:
        opening: What opens the commitment of the submission.
        form: The form that the submission answers, as the organiser's dataset says it.
        challenges: The challenges of the organiser.

    Returns:
        The challenge; None if none names the commitment, or if it is of another form.
    """
    digest = digest_of(opening)
    for challenge in challenges:
        named = {entry["commitment"] for entry in challenge["commitments"]}
        is_form = (
            challenge["suite"] == form.suite
            and challenge["form"] == form.name
            and challenge["version"] == form.version
            and challenge["part"] == form.part
        )
        if digest in named and is_form:
            return challenge
    return None


def _check_format(path: Path, stated: str, expected: str) -> None:
    """Raise UserError for a file of another format."""
    if stated != expected:
        raise UserError(f"{path} has the format '{one_line(stated)}', expected '{expected}'.")
