"""Commit, challenge, reveal: what counts as challenged, and each way to cheat."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluator.submissions.assemble import Board, BoardSources, assemble
from evaluator.submissions.commitments import (
    draw_challenge,
    make_promise,
    read_challenges,
    read_commitment,
)
from evaluator.submissions.digests import digest_of
from evaluator.submissions.marks import Mark
from generator.base.errors import UserError
from generator.base.files import read_json, write_json
from tests.conftest import refuse
from tests.evaluator.conftest import score_json, succeed
from tests.evaluator.submissions.conftest import score_on


@pytest.fixture(scope="module")
def commitment(spec: Callable[[int], str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of Ada's commitment to her model."""
    folder = tmp_path_factory.mktemp("commitment") / "ada"
    succeed("commit", spec(1), "--name", "ada", "--out", folder)
    return folder


@pytest.fixture(scope="module")
def revealed(
    fresh: Path,
    spec: Callable[[int], str],
    commitment: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Ada's submission on the fresh form, with the opening. Not to be changed."""
    folder = tmp_path_factory.mktemp("revealed")
    runs = score_on(fresh, spec(1), folder / "runs")
    opening = ("--opening", commitment / "opening.json")
    succeed("submit", runs, "--name", "ada", *opening, "--out", folder / "ada")
    return folder / "ada"


@pytest.fixture
def challenges(commitment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The organiser's folder, whose entropy happens to draw the seed of the fresh form."""
    monkeypatch.setattr("secrets.randbelow", lambda most: 7)
    folder = tmp_path / "challenges"
    read = read_commitment(commitment / "commitment.json")
    draw_challenge([read], folder, suite="toy", version="1", part="tiny")
    return folder


@pytest.fixture
def receipts(revealed: Path, fresh: Path, spec: Callable[[int], str], tmp_path: Path) -> Path:
    """The organiser's receipt of Ada's submission."""
    folder = tmp_path / "receipts"
    arguments = ("--model", spec(1), "--dataset", fresh, "--receipts", folder, "-k", "4")
    succeed("rerun", revealed, *arguments)
    return folder


@pytest.fixture
def board(fresh: Path, standard: Path, tmp_path: Path) -> Callable[..., Board]:
    """Assembles a board over both forms."""

    def make(*submissions: Path, **folders: Path) -> Board:
        tables = tmp_path / "tables"
        tables.mkdir(exist_ok=True)
        chosen = {name: [folder] for name, folder in folders.items()}
        sources = BoardSources(submissions=submissions, datasets=[standard, fresh], **chosen)
        return assemble(sources, tables)

    return make


def changed(submission: Path, out: Path, **entries: Any) -> Path:
    """A copy of a submission with other entries in its manifest."""
    shutil.copytree(submission, out)
    record = read_json(out / "submission.json")
    write_json(out / "submission.json", {**record, **entries})
    return out


def only_mark(board: Board) -> tuple[Mark, str]:
    """The mark of the only row of a board."""
    (entrant,) = board.entrants
    (mark,) = entrant.marks.values()
    return mark.mark, mark.why


def test_a_kept_promise_is_challenged(
    board: Callable[..., Board], revealed: Path, challenges: Path, receipts: Path
) -> None:
    mark, why = only_mark(board(revealed, challenges=challenges, receipts=receipts))
    assert mark == Mark.CHALLENGED
    assert "4 of 4 random items asked again are equal" in why
    assert "after the commitment (challenge 1)" in why


def test_challenged_needs_the_challenge_and_the_receipt(
    board: Callable[..., Board], revealed: Path, challenges: Path, receipts: Path
) -> None:
    """Without asking again, scores by hand on the new form would count; without the challenge, a
    form of one's own choice."""
    mark, why = only_mark(board(revealed, challenges=challenges))
    assert mark == Mark.SELF_REPORTED
    assert "nobody but the sender has asked this model" in why
    assert only_mark(board(revealed, receipts=receipts))[0] == Mark.RE_RUN


def test_only_the_fresh_form_counts(
    board: Callable[..., Board],
    submitted: dict[str, Path],
    commitment: Path,
    challenges: Path,
    tmp_path: Path,
) -> None:
    """The same opening beside runs of the standard form gives no mark there."""
    opening = read_json(commitment / "opening.json")
    claimed = changed(submitted["ada"], tmp_path / "claimed", opening=opening)
    assert only_mark(board(claimed, challenges=challenges))[0] == Mark.SELF_REPORTED


def test_another_model_than_promised_is_refused(
    board: Callable[..., Board],
    fresh: Path,
    spec: Callable[[int], str],
    commitment: Path,
    challenges: Path,
    revealed: Path,
    tmp_path: Path,
) -> None:
    """Trained on the new form, or the best of many: its digest is not the committed one."""
    runs = score_on(fresh, spec(5), tmp_path / "runs")
    opening = ("--opening", commitment / "opening.json")
    succeed("submit", runs, "--name", "ada", *opening, "--out", tmp_path / "other")
    ranked_board = board(tmp_path / "other", revealed, challenges=challenges)
    assert (
        "answers it with others: 1 were not committed"
        in ranked_board.refused[str(tmp_path / "other")]
    )


def test_a_commitment_to_many_models_is_answered_by_all(
    board: Callable[..., Board],
    revealed: Path,
    spec: Callable[[int], str],
    submitted: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who commits to two models and submits the better one is refused."""
    monkeypatch.setattr("secrets.randbelow", lambda most: 7)
    succeed("commit", spec(1), spec(2), "--name", "ada", "--out", tmp_path / "both")
    read = read_commitment(tmp_path / "both" / "commitment.json")
    draw_challenge([read], tmp_path / "challenges", suite="toy", version="1", part="tiny")
    opening = read_json(tmp_path / "both" / "opening.json")
    chosen = changed(revealed, tmp_path / "chosen", opening=opening)
    ranked_board = board(chosen, submitted["bob"], challenges=tmp_path / "challenges")
    assert "1 were left out" in ranked_board.refused[str(chosen)]


def test_many_commitments_show_when_one_is_answered(
    board: Callable[..., Board],
    revealed: Path,
    commitment: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("secrets.randbelow", lambda most: 7)
    read = [read_commitment(commitment / "commitment.json")]
    for number in range(3):
        promise = make_promise({"m": {"weights_sha256": f"{number}"}}, "ada")
        read.append(promise.commitment)
    draw_challenge(read, tmp_path / "challenges", suite="toy", version="1", part="tiny")
    assert board(revealed, challenges=tmp_path / "challenges").unanswered == {"ada": 3}


def test_the_commitment_of_another_gives_no_mark(
    board: Callable[..., Board],
    revealed: Path,
    submitted: dict[str, Path],
    commitment: Path,
    challenges: Path,
    tmp_path: Path,
) -> None:
    """A wrong salt opens nothing, and a copied opening counts only for its name, and once."""
    opening = read_json(commitment / "opening.json")
    guessed = changed(revealed, tmp_path / "guessed", opening={**opening, "salt": "0" * 64})
    assert only_mark(board(guessed, challenges=challenges))[0] == Mark.SELF_REPORTED
    copied = changed(revealed, tmp_path / "copied", name="mallory")
    ranked_board = board(copied, submitted["bob"], challenges=challenges)
    assert "opens the commitment of ada" in ranked_board.refused[str(copied)]
    redated = changed(revealed, tmp_path / "again", date="later")
    ranked_board = board(revealed, redated, challenges=challenges)
    assert "a commitment counts for one submission" in ranked_board.refused[str(redated)]


def test_of_two_openings_the_one_with_a_receipt_stays(
    board: Callable[..., Board], revealed: Path, challenges: Path, receipts: Path, tmp_path: Path
) -> None:
    """Whoever copies an opening cannot push out the sender by standing before them in the list."""
    redated = changed(revealed, tmp_path / "redated", date="later")
    for order in ([redated, revealed], [revealed, redated]):
        ranked_board = board(*order, challenges=challenges, receipts=receipts)
        assert list(ranked_board.refused) == [str(redated)]
        assert only_mark(ranked_board)[0] == Mark.CHALLENGED


def test_a_form_of_another_seed_or_part_gives_no_mark(
    board: Callable[..., Board],
    revealed: Path,
    commitment: Path,
    receipts: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = read_commitment(commitment / "commitment.json")
    for name, seed, part in (("seed", 8, "tiny"), ("part", 7, "full")):
        monkeypatch.setattr("secrets.randbelow", lambda most, seed=seed: seed)
        folder = tmp_path / name
        draw_challenge([read], folder, suite="toy", version="1", part=part)
        ranked_board = board(revealed, challenges=folder, receipts=receipts)
        assert only_mark(ranked_board)[0] == Mark.RE_RUN
        assert ranked_board.unanswered == {}


def test_a_challenge_is_drawn_once_and_in_order(commitment: Path, tmp_path: Path) -> None:
    folder = tmp_path / "challenges"
    options = ("--suite", "toy-1", "--part", "tiny", "--challenges", folder)
    first = score_json("challenge", commitment / "commitment.json", *options)
    assert (first["number"], first["previous"]) == (1, "")
    assert first["form"] == f"fresh-{first['seed']}"
    sentence = "has challenge 1 already; a second form would let the sender choose"
    refuse(sentence, "score challenge", commitment / "commitment.json", *options)
    refuse("is the secret opening", "score challenge", commitment / "opening.json", *options)
    promise = make_promise({"m": {"weights_sha256": "0"}}, "bob")
    write_json(tmp_path / "bob.json", promise.commitment)
    second = score_json("challenge", tmp_path / "bob.json", *options)
    assert second["seed"] != first["seed"]
    assert [challenge["number"] for challenge in read_challenges(folder)] == [1, 2]

    # A challenge that was drawn again for a better seed breaks the chain.
    path = folder / "challenge-0001.json"
    write_json(path, {**read_json(path), "seed": 5, "form": "fresh-5"})
    with pytest.raises(UserError, match="the order of draws is not proven"):
        read_challenges(folder)
    path.unlink()
    with pytest.raises(UserError, match=r"lacks challenge-0001\.json"):
        read_challenges(folder)


def test_a_commitment_does_not_tell_the_model(commitment: Path) -> None:
    """Two commitments to one model differ, and nothing but the opening says what is in them."""
    sent = read_json(commitment / "commitment.json")
    opening = read_json(commitment / "opening.json")
    assert sent["commitment"] == digest_of(opening)
    assert not any(
        model in (commitment / "commitment.json").read_text() for model in opening["models"]
    )
    info = {"m": {"weights_sha256": "0"}}
    first, second = make_promise(info, "ada"), make_promise(info, "ada")
    assert first.commitment["commitment"] != second.commitment["commitment"]
    assert first.opening["models"] == second.opening["models"]


def test_what_cannot_be_committed_is_refused(
    commitment: Path, spec: Callable[[int], str], tmp_path: Path
) -> None:
    """A model without weights here may change behind its name; and an opening is never lost."""
    refuse("has no weights here", "score commit", "blind:length", "--name", "x", "--out", tmp_path)
    refuse("has an opening already", "score commit", spec(1), "--name", "ada", "--out", commitment)
    for suite in ("toy", "toy-x", "-1"):
        challenge = ("score challenge", commitment / "commitment.json", "--suite", suite)
        refuse("as NAME-VERSION", *challenge, "--challenges", tmp_path / "challenges")
    write_json(tmp_path / "wrong.json", {"format": "jackalope-commitment/1"})
    options = ("--suite", "toy-1", "--challenges", tmp_path / "challenges")
    refuse("is damaged", "score challenge", tmp_path / "wrong.json", *options)


def test_a_receipt_that_was_edited_is_refused(
    board: Callable[..., Board], revealed: Path, receipts: Path
) -> None:
    (path,) = receipts.iterdir()
    record = read_json(path)
    record["runs"][0]["equal"] -= 1
    write_json(path, record)
    with pytest.raises(UserError, match="was changed after it was written"):
        board(revealed, receipts=receipts)
