"""`score compare`: two runs end to end, the example of its page, mistakes in one sentence, and what it prints."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from evaluator.cli.compare import print_comparison
from tests.evaluator.conftest import assert_one_sentence, score_command
from tests.evaluator.synthetic import Row
from tests.paths import CHECKOUT


@pytest.fixture
def runs(bags: None, drawn: Path, tmp_path: Path) -> list[Path]:
    """A model that binds, and a bag of words, which ties on every swap."""
    folders = []
    for name in ("sharp", "float32"):
        folders.append(tmp_path / name)
        assert score_command("run", drawn, "--model", f"bag:{name}@{drawn}", "--out", folders[-1]).exit_code == 0
    return folders


def test_two_runs_are_compared_for_people_for_machines_and_as_csv(
    runs: list[Path], drawn: Path, tmp_path: Path
) -> None:
    out = tmp_path / "rows.csv"
    machine = score_command("compare", *runs, "--detect", "2", "--json", "--out", out)
    assert machine.exit_code == 0, machine.stderr
    assert f"The rows are in {out}." in machine.stderr
    comparison = json.loads(machine.stdout)
    sharp, bag = f"bag:sharp@{drawn}", f"bag:float32@{drawn}"
    assert comparison["models"] == {sharp: [str(runs[0])], bag: [str(runs[1])]}
    assert comparison["items"][0]["compared"] == comparison["items"][0]["items"] > 0
    binary = {row["split"]: row for row in comparison["rows"] if row["protocol"] == "binary"}
    for split in ("seen", "partial", "unseen"):
        row = binary[split]
        assert (row["first_mean"], row["second_mean"], row["difference"]) == (1, 0, 1)
        assert (row["only_first"], row["only_second"]) == (row["items"], 0)
        assert row["p_mcnemar"] == pytest.approx(0.5 ** row["items"])
        assert row["p"] < 0.05
        assert row["low"] > 0
        assert row["leader"] == sharp
        assert row["detectable"] is None  # nothing varies
    assert comparison["flips"] == []
    assert len(pd.read_csv(out)) == len(comparison["rows"])
    people = score_command("compare", *runs)
    assert people.exit_code == 0
    for part in (f"A = {sharp}", f"B = {bag}", "binary", "retrieval", "unseen", "+100.0*", "A − B", "Ranks"):
        assert (part in people.stdout) == (part != "Ranks"), part
    assert "val" not in people.stdout.split()
    full = score_command("compare", *runs, "--full").stdout
    assert "val" in full.split()
    assert "Ranks" in full


def test_the_example_prints_what_its_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (CHECKOUT / "docs" / "compare.md").read_text(encoding="utf-8")
    code, printed = re.search(r"```python\n(.*?)```.*?```\n(.*?)```", page, re.DOTALL).groups()
    (command,) = re.findall(r"^`score (.*?)` then prints$", page, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "compare.md", "exec"), {})
    done = score_command(*command.split())
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert [line for line in lines if line] == [line for line in printed.splitlines() if line]


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    rows = [f"{i},{i % 2},{i}" for i in range(20)]
    (tmp_path / "a.csv").write_text("\n".join(["item,correct,cluster", *rows]))
    (tmp_path / "b.csv").write_text("\n".join(["item,correct,cluster", *rows[5:15], "15,,15", "16,0,other"]))
    done = score_command("compare", tmp_path / "a.csv", tmp_path / "b.csv")
    for line in (
        "10 of 20 items are compared.",
        f"{tmp_path / 'b.csv'} lacks 8 items (0, 1, 2, …).",
        f"{tmp_path / 'b.csv'} has no score for 1 item (15).",
        "The cluster differs between runs for 1 item (16).",
    ):
        assert line in done.stdout.splitlines()


def test_what_cannot_be_compared_is_one_sentence(runs: list[Path], tmp_path: Path) -> None:
    assert_one_sentence(score_command("compare", runs[0]), "Expected at least two models", "alone")
    assert_one_sentence(score_command("compare", *runs, tmp_path / "none"), f"got {tmp_path / 'none'}")
    (tmp_path / "other.csv").write_text("item,correct,cluster\n1,1,1\n")
    assert_one_sentence(
        score_command("compare", runs[0], tmp_path / "other.csv"), "has no item that all runs before it"
    )
    for arguments in ([], [*runs, "--detect", "0"], [*runs, "--detect", "101"]):
        assert score_command("compare", *arguments).exit_code == 2


MODELS = ("a model [1]", "another", "third")


def _row(**more: object) -> Row:
    return {
        "protocol": "binary",
        "metric": "accuracy",
        "kind": "swap",
        "split": "seen",
        "first": MODELS[0],
        "second": MODELS[1],
        "items": 1200,
        "clusters": 30,
        "first_mean": 0.75,
        "second_mean": 0.5,
        "difference": 0.25,
        "low": 0.125,
        "high": 0.375,
        "only_first": 400,
        "only_second": 100,
        "p": 0.0125,
        "p_mcnemar": 1e-9,
        "q": 0.025,
        "speaks_of": "bindings like these, of these 3 values; these trainings",
        "leader": MODELS[0],
        "detectable": 0.0625,
        "block_seeds_needed": 1234,
        "items_needed": None,
        **more,
    }


def _comparison(rows: list[Row], models: int = 2, detect: float | None = None) -> Row:
    ranks = [
        {"model": name, "mean": 0.5, "rank": i + 1, "low": 1, "high": models} for i, name in enumerate(MODELS[:models])
    ]
    questions = {row["split"]: row for row in rows}.values()
    flip = {
        "protocol": "binary",
        "metric": "accuracy",
        "kind": "swap",
        "first": MODELS[0],
        "second": MODELS[1],
        "splits": ["seen", "unseen"],
        "differences": [0.25, -0.125],
        "p_flip": 0.0125,
    }
    return {
        "marks": {},
        "models": {name: [f"{name}.csv"] * (i + 1) for i, name in enumerate(MODELS[:models])},
        "items": [
            {
                "items": 1300,
                "compared": 1200,
                "missing": {"x": {"items": 99, "first": ["i1", "i2", "i3"]}},
                "unscored": {},
                "mismatched": {"split": {"items": 1, "first": ["i9"]}},
            }
        ],
        "q": 0.05,
        "detect": detect,
        "rows": rows,
        "flips": [{**flip, "significant": True}, {**flip, "kind": "hidden", "significant": False}],
        "rankings": [
            {**{name: row[name] for name in ("protocol", "metric", "kind", "split")}, "models": ranks}
            for row in questions
        ],
    }


def test_rows_flips_and_what_is_left_out_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_comparison(_comparison([_row(), _row(split="unseen", detectable=None, leader=None)], detect=0.02))
    printed = capsys.readouterr().out
    for part in (
        "A = a model [1]\n",
        "B = another (2 runs)",
        "1,200 of 1,300 items are compared.",
        "x lacks 99 items (i1, i2, i3, …).",
        "The split differs between runs for 1 item (i9).",
        "75.0",
        "50.0",
        "+25.0*",
        "+25.0 ",
        "+12.5, +37.5",
        "< .0001",
        ".0125",
        ".0250",
        "6.2",
        "none",
        "1,234",
        "never",
        "block seeds for 2",
        "items for 2",
        "which speak of bindings like these, of these 3 values; these trainings. p comes",
        "Flip in binary, accuracy, swap: A leads on seen by 25.0, B leads on unseen by 12.5; p_flip .0125.",
        "Significant differences: 1 of 2. Significant flips: 1 of 2.\n",
    ):
        assert part in printed, part
    for part in ("…\n", "hidden", "Ranks", "--full"):
        assert part not in printed, part


def test_ten_rows_with_the_smallest_q_are_shown_in_their_order_or_all(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [_row(split=f"split{i:02}", q=(i * 7 % 15) / 100) for i in range(15)]
    rows.append(_row(split="val", q=0))
    print_comparison(_comparison(rows))
    printed = capsys.readouterr().out
    shown = [f"split{i:02}" for i in range(15) if i * 7 % 15 < 10]
    assert [line.split()[3] for line in printed.splitlines() if line.lstrip().startswith("binary")] == shown
    assert (
        "Significant differences: 16 of 16. Significant flips: 1 of 2. 10 rows are shown; --full shows all." in printed
    )
    print_comparison(_comparison(rows), full=True)
    printed = capsys.readouterr().out
    assert all(row["split"] in printed for row in rows)
    assert "--full" not in printed
    assert "block seeds" not in printed


def test_ranks_of_more_than_two_models_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_comparison(_comparison([_row()], models=3))
    printed = capsys.readouterr().out
    assert "Ranks" in printed
    assert "2 (1 – 3)" in printed


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (["1,1,c,"], ["1,0,c,"], "A single item or group says nothing of others; compare more of them."),
        ([f"{i},1,{i // 2}," for i in range(10)],) * 2 + ("Where no item tells the models apart, or every item in",),
        (
            [f"{i},{i % 2},{i // 2},{'red:cube' if i < 4 else ''}" for i in range(10)],
            [f"{i},{i % 3 % 2},{i // 2},{'red:cube' if i < 4 else ''}" for i in range(10)],
            "; 6 of 10 items name none; these trainings",
        ),
    ],
)
def test_what_says_little_is_compared_with_a_sentence(
    tmp_path: Path, first: list[str], second: list[str], said: str
) -> None:
    for name, rows in (("a", first), ("b", second)):
        (tmp_path / f"{name}.csv").write_text("\n".join(["item,correct,cluster,bindings", *rows]))
    done = score_command("compare", tmp_path / "a.csv", tmp_path / "b.csv")
    assert done.exit_code == 0, done.output
    assert said in done.stdout


def test_models_that_share_no_item_are_refused(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(f"item,correct,cluster\n{name},1,c\n")
    done = score_command("compare", tmp_path / "a.csv", tmp_path / "b.csv")
    assert_one_sentence(done, "has no item that all runs before it have", "compare answers to the same items.")
