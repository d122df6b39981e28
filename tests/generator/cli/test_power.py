"""`--power` of `gen plan` and `gen split`: tells, and writes nothing."""

import json
from pathlib import Path

import pytest

from generator.plan.power import SplitSize, difference, half_width
from tests.conftest import FEW, run_command
from tests.generator.cli.test_split import contents
from tests.paths import CHECKOUT


def test_a_plan_is_told_without_a_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_command("gen", "plan", "--holdout", "3x3", "--block-seed", "0..2", "--power")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "color-shape-3x3-b0, unseen: 300 scenes, 9 groups, 9 bindings for each block seed"
    assert lines[1].split() == ["accuracy", "1", "seed", "3", "seeds", "5", "seeds", "10", "seeds"]
    size = SplitSize("unseen", 300, 9, 9, 2, (3, 3))
    told = f"75% ±{100 * half_width(size, 0.75):.1f} Δ {100 * (difference(size, 0.75) or 0):.1f}"
    assert " ".join(lines[3].split()).startswith(told)
    assert "-b1" not in done.stdout
    assert (
        "Assumed: effects of values and of objects of 0.5 logits, of bindings of 1 and of groups of 0.5" in done.stdout
    )
    assert list(tmp_path.iterdir()) == []
    shown = (CHECKOUT / "docs" / "splits.md").read_text(encoding="utf-8").split("$ gen plan --holdout 3x3 --power\n")[1]
    assert shown.startswith("\n".join(lines[:6]) + "\n```")


def test_a_design_with_several_benchmarks_is_told_for_machines() -> None:
    done = run_command(
        "gen", "plan", "--design", "coverage", "--holdout", "k2..3", "--scenes", "grid", "--power", "--json"
    )
    told = json.loads(done.stdout)
    assert [design["benchmark"] for design in told["designs"]] == ["color-shape-k2-b0", "color-shape-k3-b0"]
    assert told["assumed"] == {
        "main_effect": 0.5,
        "binding_effect": 1.0,
        "cluster_effect": 0.5,
        "level": 0.95,
        "power": 0.8,
    }
    for design in told["designs"]:
        assert design["split"] == "unseen"
        assert len(design["rows"]) == 16
        size = SplitSize(*(design[name] for name in ("split", "scenes", "clusters", "bindings", "objects", "levels")))
        for row in design["rows"]:
            assert row["half_width"] == half_width(size, row["accuracy"], row["block_seeds"])


def test_another_holdout_over_images_is_told_and_nothing_is_written(copied: Path) -> None:
    before = contents(copied)
    done = run_command("gen", "split", copied, "--holdout", "4x4", "--power", "--json")
    assert done.returncode == 0, done.stderr
    (design,) = json.loads(done.stdout)["designs"]
    assert (design["benchmark"], design["split"]) == ("color-shape-4x4-b0", "unseen")
    assert contents(copied) == before
    made = json.loads(run_command("gen", "split", copied, "--holdout", "4x4", "--json").stdout)
    assert design["scenes"] == made["scenes"]["unseen"]


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (["plan", "--out", "x"], "--out"),
        (["split", "{}", "--name", "x"], "--name"),
        (["split", "{}", "--replace"], "--replace"),
    ],
)
def test_options_of_what_would_be_written_are_refused(copied: Path, command: list[str], option: str) -> None:
    done = run_command("gen", *(each.format(copied) for each in command), "--power")
    assert done.returncode == 2
    assert done.stderr == f"Error: --power writes nothing, so {option} has no effect; leave it out.\n"


def test_a_plan_says_in_one_line_what_it_will_tell(tmp_path: Path) -> None:
    done = run_command("gen", "plan", *FEW, "--block-seed", "0..1", "--out", tmp_path / "world")
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("Expect: ")]
    assert "bindings: an unseen accuracy of 75% will have an interval of about ±" in line
    assert "with 5 block seeds ±" in line
