"""`gen verify`: exit codes, what is printed where, and the examples of docs/verify.md."""

import json
import re
import shlex
import shutil
from itertools import permutations
from pathlib import Path

from generator.cli.verify import describe_reports
from tests.conftest import run_command, succeed
from tests.generator.judge.datasets import BENCHMARK
from tests.generator.judge.foreign.label_files import table
from tests.paths import CHECKOUT


def test_the_command_exits_1_and_names_the_fault(copied: Path) -> None:
    image = copied / "world/images/000007.png"
    image.write_bytes(image.read_bytes()[:100])
    done = run_command("gen", "verify", copied, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)[BENCHMARK]["status"] == "failed"
    assert "000007.png" in done.stderr


def test_the_splits_of_others_are_judged(tmp_path: Path) -> None:
    path = tmp_path / "splits.csv"
    text = table("first,relation,second,split", "cube,left,cone,train", "cone,right,cube,test")
    path.write_text(text, encoding="utf-8")
    done = run_command("gen", "verify", "--splits", path)
    assert done.returncode == 1
    assert done.stdout == "splits: failed\n"
    leak = '"cube left cone" (train, line 2) = "cone right cube" (test, line 3)'
    assert f"splits: converse leak: {leak}\n" in done.stderr
    path.write_text(text.replace("right", "left"), encoding="utf-8")
    clean = succeed("gen verify --json --splits", path)
    assert json.loads(clean.stdout)["splits"]["splits"] == {"train": 1, "test": 1}
    assert list(tmp_path.iterdir()) == [path]


PAGE = CHECKOUT / "docs" / "verify.md"


def test_the_examples_of_the_page_print_what_the_command_prints(tmp_path: Path) -> None:
    blocks = re.findall(
        r"^```(\w*)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    (example,) = [text for language, text in blocks if language == "csv"]
    answer, spare_answer = [text for language, text in blocks if language == ""]
    path = tmp_path / "labels.csv"
    path.write_text(example, encoding="utf-8")
    done = run_command("gen", "verify", "--splits", path)
    lines = [line for line in done.stderr.splitlines() if "leak" in line or "failed" in line]
    assert lines == answer.splitlines()
    command = next(text for _, text in blocks if "--columns" in text)
    assert spare_answer in verify_spare_labels(path, command)


def verify_spare_labels(path: Path, command: str) -> str:
    """What the page's command prints for labels as of SPARE: 32 animals, two pairs of textures."""
    animals = [f"animal{n}" for n in range(32)]
    header = "character_name,character2_name,character_texture,character2_texture"
    pairs = [("blue", "red"), ("grass", "stone")]
    lines = [f"{a},{b},{x},{y}" for a, b in permutations(animals, 2) for x, y in pairs]
    path.write_text(table(header, *lines), encoding="utf-8")
    done = run_command(*shlex.split(command.replace("\\\n", " ")), cwd=path.parent)
    assert done.returncode == 1
    return done.stderr + "\n"


def test_findings_notes_and_tables_come_before_the_sentence() -> None:
    numbers = {
        f"{level}{suffix}": 1
        for level in ("seen", "partial", "unseen")
        for suffix in ("", "_unequal")
    }
    familiarity = {"color": [{"split": "test", **numbers}]}
    leak = {"fault": "leak", "what": "row 1"}
    result = {"findings": [leak], "notes": ["n"], "familiarity": familiarity, "sentence": "failed."}
    lines = list(describe_reports({"a": result}))
    assert lines[:2] == ["a: leak: row 1", "a: note: n"]
    assert "how many of their color bindings training never shows" in lines[2]
    assert lines[4].split() == ["test", *["1", "(1)"] * 3]
    assert lines[-1] == "a: failed."


def test_images_are_rendered_again_when_asked(undisturbed: Path, tmp_path: Path) -> None:
    root = shutil.copytree(undisturbed, tmp_path / "dataset")
    done = succeed("gen verify --images 1 --seed 3 --json", root)
    (certificate,) = json.loads(done.stdout).values()
    assert certificate["level"] == "sampled images"
    assert (certificate["images"]["scenes"], certificate["images"]["seed"]) == (1, 3)
