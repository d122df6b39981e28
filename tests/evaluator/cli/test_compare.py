"""`score compare`: two runs end to end, the example of its page, mistakes in one sentence, and what
it prints."""

import json
import random
import re
from pathlib import Path

import pandas as pd
import pytest

from evaluator.models.registry import FAMILIES, Family
from tests.evaluator.conftest import score_command, score_json, succeed
from tests.paths import CHECKOUT


@pytest.fixture(scope="module")
def runs(drawn: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A model that binds, and a bag of words, which ties on every swap. Not to be changed."""
    folder = tmp_path_factory.mktemp("compared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(
            FAMILIES, "bag", Family("tests.evaluator.encoders:load_bag", "bag:float32@FOLDER")
        )
        for name in ("sharp", "float32"):
            succeed("run", drawn, "--model", f"bag:{name}@{drawn}", "--out", folder / name)
    return [folder / "sharp", folder / "float32"]


def test_two_runs_are_compared_for_people_for_machines_and_as_csv(
    runs: list[Path], drawn: Path, tmp_path: Path
) -> None:
    out = tmp_path / "rows.csv"
    machine = succeed("compare", *runs, "--detect", "2", "--json", "--out", out)
    assert f"The rows are in {out}." in machine.stderr
    comparison = json.loads(machine.stdout)
    sharp, bag = f"bag:sharp@{drawn}", f"bag:float32@{drawn}"
    assert comparison["models"] == {sharp: [str(runs[0])], bag: [str(runs[1])]}
    assert comparison["items"][0]["compared"] == comparison["items"][0]["items"] > 0
    of_binary = {row["split"]: row for row in comparison["rows"] if row["protocol"] == "binary"}
    assert [of_binary[split]["difference"] for split in ("seen", "partial", "unseen")] == [1.0] * 3
    # All items differ: the exact test says so where the variance cannot be estimated.
    assert [of_binary[split]["leader"] for split in ("seen", "partial", "unseen")] == [sharp] * 3
    assert of_binary["partial"]["p"] < 0.01
    assert comparison["flips"] == []
    assert len(pd.read_csv(out)) == len(comparison["rows"])
    people = succeed("compare", *runs)
    for part in (
        f"A = {sharp}",
        f"B = {bag}",
        "binary",
        "retrieval",
        "unseen",
        "+100.0*",
        "A − B",
        "Ranks",
    ):
        assert (part in people.stdout) == (part != "Ranks"), part
    assert "val" not in people.stdout.split()
    full = score_command("compare", *runs, "--full").stdout
    assert "val" in full.split()
    assert "Ranks" in full


def test_the_example_prints_what_its_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (CHECKOUT / "docs" / "compare.md").read_text(encoding="utf-8")
    code, printed = re.search(r"```python\n(.*?)```.*?```\n(.*?)```", page, re.DOTALL).groups()
    (command,) = re.findall(r"^`score (.*?)` then prints$", page, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "compare.md", "exec"), {})
    done = score_command(*command.split())
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert [line for line in lines if line] == [line for line in printed.splitlines() if line]


def test_items_that_are_left_out_are_counted_by_reason(tmp_path: Path) -> None:
    rows = [f"{i},{i % 2},{i}" for i in range(20)]
    (tmp_path / "a.csv").write_text("\n".join(["item,correct,cluster", *rows]))
    (tmp_path / "b.csv").write_text(
        "\n".join(["item,correct,cluster", *rows[5:15], "15,,15", "16,0,other"])
    )
    done = score_command("compare", tmp_path / "a.csv", tmp_path / "b.csv")
    for line in (
        "10 of 20 items are compared.",
        f"{tmp_path / 'b.csv'} lacks 8 items (0, 1, 2, …).",
        f"{tmp_path / 'b.csv'} has no score for 1 item (15).",
        "The cluster differs between runs for 1 item (16).",
    ):
        assert line in done.stdout.splitlines()


def test_ten_rows_with_the_smallest_q_are_shown_or_all_and_ranks_of_three_models(
    tmp_path: Path,
) -> None:
    rng = random.Random(0)
    runs = []
    for name in ("a [1]", "b", "b", "c"):
        answers = [(split, i, rng.randrange(2)) for split in range(6) for i in range(8)]
        lines = [
            f"{split}-{i},{right},{split}-{i // 2},split{split}" for split, i, right in answers
        ]
        path = tmp_path / f"{len(runs)}.csv"
        path.write_text("\n".join(["item,correct,cluster,split", *lines]))
        runs.append(f"{name}={path}")
    comparison = score_json("compare", *runs)
    letters = dict(zip(comparison["models"], "ABC", strict=True))
    rows = [
        (row["split"], letters[row["first"]], "−", letters[row["second"]])
        for row in comparison["rows"]
    ]
    least = sorted(range(len(rows)), key=lambda i: comparison["rows"][i]["q"])[:10]
    printed = succeed("compare", *runs).stdout
    printed_rows = [line.split() for line in printed.splitlines() if line.startswith(" split")][1:]
    assert [tuple(cells[:4]) for cells in printed_rows if cells[2] == "−"] == [
        rows[i] for i in sorted(least)
    ]
    for part in (
        "A = a [1]\n",
        "B = b (2 runs)",
        "Ranks",
        "10 rows are shown; --full shows all.",
        "flips: 0 of ",
    ):
        assert part in printed
    assert not {"Flip", "seeds"} & set(printed.split())
    full = succeed("compare", *runs, "--full").stdout
    printed_rows = [line.split() for line in full.splitlines() if line.startswith(" split")]
    assert [tuple(cells[:4]) for cells in printed_rows if cells[2] == "−"] == rows
    assert "--full" not in full


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [
        (
            ["1,1,c,"],
            ["1,0,c,"],
            "A single item or group says nothing about others; compare more of them.",
        ),
        (
            [f"{i},{i // 4},{i // 4}," for i in range(8)],
            [f"{i},{int(i < 3)},{i // 4}," for i in range(8)],
            "there are too few groups to show any difference",
        ),
        ([f"{i},1,{i // 2}," for i in range(10)],) * 2
        + ("If no item tells the models apart, or all items do so",),
        (
            [f"{i},{i % 2},{i // 2},{'red:cube' if i < 4 else ''}" for i in range(10)],
            [f"{i},{i % 3 % 2},{i // 2},{'red:cube' if i < 4 else ''}" for i in range(10)],
            "these trainings; 6 of 10 items name no binding",
        ),
    ],
)
def test_comparisons_that_show_little_get_a_warning(
    tmp_path: Path, first: list[str], second: list[str], sentence: str
) -> None:
    for name, rows in (("a", first), ("b", second)):
        (tmp_path / f"{name}.csv").write_text("\n".join(["item,correct,cluster,bindings", *rows]))
    done = succeed("compare", tmp_path / "a.csv", tmp_path / "b.csv")
    assert sentence in done.stdout
