"""A comparison in a terminal: short by default, whole with `full`, nothing cut off."""

import pytest

from evaluator.cli.compare import print_comparison
from tests.evaluator.synthetic import Row

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
        "varies": ["bindings", "groups"],
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
        "speaks of bindings and groups like these; these blocks and trainings are held fixed",
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
