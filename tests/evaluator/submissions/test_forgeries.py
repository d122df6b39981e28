"""The threats of docs/leaderboard.md: each forgery is refused or marked as the page says."""

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from evaluator.submissions.assemble import Board, BoardSources, assemble
from evaluator.submissions.forms import open_datasets
from evaluator.submissions.marks import Mark
from evaluator.submissions.training import check_training
from generator.base.errors import UserError
from generator.base.files import read_json, write_json
from generator.base.tables import read_table, write_table
from generator.dataset.reader import Dataset
from generator.dataset.records import SCORES
from tests.evaluator.conftest import score_command, succeed
from tests.evaluator.submissions.conftest import run_folders, sign


@pytest.fixture
def board(standard: Path, tmp_path: Path) -> Callable[..., Board]:
    """Assembles a board over the standard form: `board(*submissions, receipts=FOLDER)`."""

    def make(*submissions: Path, **folders: Path) -> Board:
        tables = tmp_path / "tables"
        tables.mkdir(exist_ok=True)
        sources = BoardSources(
            submissions=submissions,
            datasets=[standard],
            **{name: [folder] for name, folder in folders.items()},
        )
        return assemble(sources, tables)

    return make


def refused(board: Callable[..., Board], forged: Path, honest: Path, **folders: Path) -> str:
    """The sentence with which a forged submission is refused, beside an honest one that stays."""
    ranked_board = board(forged, honest, **folders)
    assert [
        entrant.submission.folder for entrant in ranked_board.entrants if entrant.submission
    ] == [honest]
    return ranked_board.refused[str(forged)]


def edit_scores(submission: Path, edit: Callable[[pa.Table], pa.Table]) -> None:
    """Change the scores of all runs."""
    for run in run_folders(submission):
        table = edit(read_table(run / "scores.parquet", SCORES))
        write_table(run / "scores.parquet", table, SCORES)


def with_scores(table: pa.Table, values: np.ndarray) -> pa.Table:
    """A table of scores with other values."""
    place = table.schema.get_field_index("score")
    return table.set_column(place, "score", pa.array(values, pa.float32()))


def perfect(submission: Path, standard: Path) -> None:
    """Write scores by hand: every true text wins. The numbers that the sender claims follow."""
    for run, world in zip(run_folders(submission), ("one", "two"), strict=True):
        candidates = Dataset.open(standard / "zero-shot" / world).benchmark().candidates
        truth = {}
        for row in candidates.select(["scene_id", "text_id", "truth"]).to_pylist():
            truth[row["scene_id"], row["text_id"]] = row["truth"]
        table = read_table(run / "scores.parquet", SCORES)
        pairs = zip(table["image_id"].to_pylist(), table["text_id"].to_pylist(), strict=True)
        values = np.array([float(truth[pair]) for pair in pairs])
        write_table(run / "scores.parquet", with_scores(table, values), SCORES)
    claim_what_scores_give(submission, standard)


def claim_what_scores_give(submission: Path, standard: Path) -> None:
    """Compute the claims of a forged submission from its scores, as a careful forger does."""
    from evaluator.runs.folder import open_run
    from evaluator.runs.measure import recompute
    from evaluator.submissions.claims import claims_of

    roots = [placed.dataset.root for placed in open_datasets([standard])]
    for run in run_folders(submission):
        write_json(run / "claims.json", dict(claims_of(recompute(open_run(run, roots))["rows"])))
    sign(submission)


def test_honest_submissions_are_ranked_and_self_reported(
    board: Callable[..., Board], ada: Path, bob: Path
) -> None:
    ranked_board = board(ada, bob)
    assert not ranked_board.refused
    for entrant in ranked_board.entrants:
        assert [mark.mark for mark in entrant.marks.values()] == [Mark.SELF_REPORTED]
        assert not entrant.unranked


def test_results_by_hand_are_refused(board: Callable[..., Board], ada: Path, bob: Path) -> None:
    """A number that does not follow from the scores, with all digests computed again."""
    run = next(run_folders(ada))
    claims = read_json(run / "claims.json")
    claims["rows"][0]["value"] = 0.987
    write_json(run / "claims.json", claims)
    assert "of 0.9870, and its scores give" in refused(board, sign(ada), bob)


def test_left_out_items_are_refused(board: Callable[..., Board], ada: Path, bob: Path) -> None:
    """Items without a score do not count, so leaving out the wrong ones would raise a result."""
    edit_scores(ada, lambda table: table.slice(table.num_rows // 4))
    sentence = refused(board, sign(ada), bob)
    assert "has no score of" in sentence
    assert "scores are missing" in sentence


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (lambda table: pa.concat_tables([table, table]), "has several scores of"),
        (
            lambda table: table.set_column(
                0, "image_id", pc.binary_join_element_wise(table["image_id"], "9", "")
            ),
            "scores of images that nobody asked about",
        ),
    ],
    ids=["two scores of a pair", "unknown images"],
)
def test_scores_of_other_pairs_are_refused(
    board: Callable[..., Board],
    ada: Path,
    bob: Path,
    edit: Callable[[pa.Table], pa.Table],
    sentence: str,
) -> None:
    edit_scores(ada, edit)
    assert sentence in refused(board, sign(ada), bob)


def test_scores_by_hand_are_self_reported_until_the_model_is_asked(
    board: Callable[..., Board],
    ada: Path,
    bob: Path,
    standard: Path,
    spec: Callable[[int], str],
    tmp_path: Path,
) -> None:
    """Careful scores match everything but the model: asking it again refuses the submission."""
    perfect(ada, standard)
    ranked_board = board(ada, bob)
    assert not ranked_board.refused
    (mark,) = ranked_board.entrants[0].marks.values()
    assert mark.mark == Mark.SELF_REPORTED
    receipts = tmp_path / "receipts"
    arguments = ("--model", spec(1), "--dataset", standard, "--receipts", receipts, "-k", "10")
    done = score_command("rerun", ada, *arguments)
    assert done.exit_code == 1
    assert "items differ when the model is asked again" in done.stderr
    assert "is not confirmed" in refused(board, ada, bob, receipts=receipts)


def test_answers_of_a_text_only_model_are_marked(
    board: Callable[..., Board], ada: Path, bob: Path, standard: Path
) -> None:
    """Its scores of a text are the same with every image."""

    def by_length(table: pa.Table) -> pa.Table:
        lengths = [hash(text) % 1000 / 1000 for text in table["text_id"].to_pylist()]
        return with_scores(table, np.array(lengths))

    edit_scores(ada, by_length)
    claim_what_scores_give(ada, standard)
    ranked_board = board(ada, bob)
    assert [entrant.is_text_only for entrant in ranked_board.entrants] == [True, False]


def test_the_scores_of_another_are_not_ranked(
    board: Callable[..., Board],
    ada: Path,
    standard: Path,
    spec: Callable[[int], str],
    tmp_path: Path,
) -> None:
    """Under another name and scale, with noise. Once the original is confirmed, it has its rank."""
    copied = Path(shutil.copytree(ada, tmp_path / "copied"))
    random = np.random.default_rng(0)

    def disguise(table: pa.Table) -> pa.Table:
        values = table["score"].to_numpy().astype(float)
        return with_scores(table, 3 * values + 1 + random.normal(0, 1e-4, len(values)))

    edit_scores(copied, disguise)
    record = read_json(copied / "submission.json")
    write_json(copied / "submission.json", {**record, "name": "mallory"})
    claim_what_scores_give(copied, standard)
    ranked_board = board(ada, copied)
    assert [entrant.unranked for entrant in ranked_board.entrants] == [
        "It has the answers of mallory.",
        "It has the answers of ada.",
    ]
    receipts = tmp_path / "receipts"
    arguments = ("--model", spec(1), "--dataset", standard, "--receipts", receipts, "-k", "6")
    succeed("rerun", ada, *arguments)
    ranked_board = board(copied, ada, receipts=receipts)
    reason_of = {entrant.name: entrant.unranked for entrant in ranked_board.entrants}
    assert reason_of == {"ada": "", "mallory": "It has the answers of ada."}


def test_an_altered_dataset_is_refused(board: Callable[..., Board], ada: Path, bob: Path) -> None:
    """Its digest is not that of the board's world; and stating another digest in one place only is
    a contradiction."""
    record = read_json(ada / "submission.json")
    other = "ab" * 32
    changed = {**record["runs"][0], "world_digest": other}
    write_json(ada / "submission.json", {**record, "runs": [changed, *record["runs"][1:]]})
    assert "another world than the board's zero-shot/one" in refused(board, ada, bob)
    changed = {**record["runs"][0], "benchmark": other}
    write_json(ada / "submission.json", {**record, "runs": [changed, *record["runs"][1:]]})
    assert "another benchmark color-shape-3x3-b0 than the board's" in refused(board, ada, bob)
    run = next(run_folders(ada))
    write_json(ada / "submission.json", record)
    write_json(run / "run.json", {**read_json(run / "run.json"), "world": other})
    with_other_world = refused(board, sign(ada), bob)
    assert "is not at" in with_other_world or "names another world" in with_other_world


def test_a_form_of_the_senders_choice_is_refused(
    board: Callable[..., Board], ada: Path, bob: Path
) -> None:
    """Who may choose the seed of a form chooses the best of many."""
    record = read_json(ada / "submission.json")
    runs = []
    for run in record["runs"]:
        form = {**run["form"], "form": "fresh-12"}
        runs.append({**run, "form": form, "world_digest": "cd" * 32})
    write_json(ada / "submission.json", {**record, "runs": runs})
    sentence = refused(board, ada, bob)
    assert "form fresh-12, whose dataset the board does not have" in sentence


def test_a_standard_run_does_not_pass_for_another_form(
    board: Callable[..., Board], ada: Path, bob: Path
) -> None:
    record = read_json(ada / "submission.json")
    runs = [{**run, "form": {**run["form"], "form": "fresh-7"}} for run in record["runs"]]
    write_json(ada / "submission.json", {**record, "runs": runs})
    assert "and its dataset is zero-shot/one of toy-1 (tiny), form standard" in refused(
        board, ada, bob
    )


def test_training_on_the_held_out_block_contradicts_its_digests() -> None:
    """A model of another turn has seen what this turn holds out, whatever its record says."""
    turns = {
        "turn0": SimpleNamespace(
            name="turn0", digest="0" * 64, holdout={"bindings": [["red", "cube"]]}
        ),
        "turn1": SimpleNamespace(
            name="turn1", digest="1" * 64, holdout={"bindings": [["blue", "cone"]]}
        ),
    }
    dataset: Any = SimpleNamespace(benchmark_names=lambda: list(turns), benchmark=turns.get)
    asked: Any = turns["turn0"]
    training: Any = {
        "status": "clean",
        "saw": "recorded",
        "benchmark": turns["turn1"].digest,
        "world": None,
        "held_out": "",
    }
    with pytest.raises(
        UserError, match="turn1 shows 1 of the combinations that turn0 holds out, such as red cube"
    ):
        check_training("mallory", training, asked, dataset)
    check_training("ada", {**training, "benchmark": asked.digest}, asked, dataset)
    # A record that admits it is marked on the board, and has no rank.
    check_training("eve", {**training, "status": "contaminated"}, asked, dataset)


def test_a_contaminated_model_has_no_rank(
    board: Callable[..., Board], ada: Path, bob: Path
) -> None:
    from evaluator.submissions.ranking import rank_tracks

    forged_training = {
        "status": "contaminated",
        "sentence": "CONTAMINATED: 1 of 9 bindings.",
        "overlaps": [],
    }
    record = read_json(ada / "submission.json")
    for run in run_folders(ada):
        write_json(run / "run.json", {**read_json(run / "run.json"), "training": forged_training})
    for run in record["runs"]:
        run["training"] |= {"status": "contaminated"}
    write_json(ada / "submission.json", record)
    ranked_board = board(sign(ada), bob)
    (table,) = rank_tracks(ranked_board.forms[0], ranked_board.entrants, ranked_board.declared)
    assert [(row.entrant.name, row.rank) for row in table.rows] == [("bob", 1), ("ada", None)]


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("receipt.json", "is not a file of one of its runs"),
        ("runs/standard/tables/items.csv", "is not a file of one of its runs"),
    ],
)
def test_a_receipt_or_table_of_the_sender_is_refused(
    board: Callable[..., Board], ada: Path, bob: Path, path: str, sentence: str
) -> None:
    (ada / path).parent.mkdir(parents=True, exist_ok=True)
    (ada / path).write_text("{}")
    unlisted = refused(board, ada, bob)
    assert "which its manifest does not list" in unlisted
    assert sentence in refused(board, sign(ada), bob)


def test_damaged_submissions_are_refused(
    board: Callable[..., Board], ada: Path, bob: Path, tmp_path: Path
) -> None:
    """Changed and missing files, links, paths that lead out, and what is no manifest."""
    original = read_json(ada / "submission.json")
    run = next(run_folders(ada))
    claims = (run / "claims.json").read_text()
    (run / "claims.json").write_text(f"{claims} ")
    assert "has another digest than submission.json says" in refused(board, ada, bob)
    (run / "claims.json").unlink()
    assert "which its manifest lists" in refused(board, ada, bob)
    (run / "claims.json").symlink_to(tmp_path / "elsewhere.json")
    assert "is a link, and links are not followed" in refused(board, ada, bob)
    (run / "claims.json").unlink()
    (run / "claims.json").write_text(claims)
    for entries, sentence in (
        ({"runs": [{**original["runs"][0], "folder": "../../etc"}]}, "is not a path within"),
        ({"runs": [{**original["runs"][0], "folder": "elsewhere"}]}, "outside its folder"),
        ({"runs": original["runs"] * 2}, "lists the run"),
        ({"format": "jackalope-submission/9"}, "has the format"),
        ({"name": ""}, "is damaged (name"),
        ({"files": {**original["files"], "../x": "ab" * 32}}, "is not a file of one of its runs"),
    ):
        write_json(ada / "submission.json", {**original, **entries})
        assert sentence in refused(board, ada, bob)
    (ada / "submission.json").write_text("[]")
    assert "expected a JSON object" in refused(board, ada, bob)


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({"limit": 5}, "answers only a part of its questions"),
        ({"sampled_pools": {"grid": 1}}, "samples 1 false texts of the pool grid"),
        ({"info": {"seed": 9}}, "describes another model in its run"),
        ({"info": {"trained_on": 3}}, "is damaged (info.trained_on"),
        ({"protocols": ["binary", "magic"]}, "unknown protocol 'magic'"),
        ({"dataset": None}, ""),
        ({"indistinct_texts": {"x": 3}}, "is damaged"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_records_that_contradict_the_manifest_are_refused(
    board: Callable[..., Board], ada: Path, bob: Path, entries: dict[str, Any], sentence: str
) -> None:
    run = next(run_folders(ada))
    write_json(run / "run.json", {**read_json(run / "run.json"), **entries})
    assert sentence in refused(board, sign(ada), bob)
