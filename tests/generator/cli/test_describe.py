"""`gen describe`: new texts over the same images and splits."""

import json
from pathlib import Path

import pytest

from generator.dataset.reader import Dataset
from tests.conftest import run_command


def test_new_texts_keep_the_splits(copied: Path) -> None:
    done = run_command("gen", "describe", copied, "--protocol", "binary", "--seed", "3", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["benchmark"] == "color-shape-3x3-b0-texts"
    assert data["scenes"] == {"train": 110, "val": 4, "seen": 20, "partial": 20, "unseen": 20}
    assert "each decided on its scene" in done.stderr
    first, texts = (Dataset.open(copied).benchmark(name) for name in ("color-shape-3x3-b0", data["benchmark"]))
    assert texts.splits["split"].to_pylist() == first.splits["split"].to_pylist()
    assert texts.items.num_rows == sum(data["items"].values())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--protocol", "binery"], "did you mean 'binary'"),
        (["--complexity", "many"], "--complexity"),
        (["--counts", "O=x"], "--counts"),
        (["--captions", "density=2"], "--captions"),
        (["--template", "poem"], "poem"),
        (["--level", "OX"], "OX"),
        (["--name", "../up"], "../up"),
        (["--preset", "compas"], "did you mean 'compass2026'"),
        (["--preset", "compass2026", "--level", "OA"], "sets --level itself"),
        (["--train", "plain", "--negative", "neg"], "add --train graded"),
        (["--without", "nowhere.txt"], "Cannot read nowhere.txt"),
    ],
)
def test_a_mistake_is_one_sentence(rendered: Path, arguments: list[str], said: str) -> None:
    done = run_command("gen", "describe", rendered, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_listed_items_are_left_out_and_the_others_stay_as_they_are(copied: Path, tmp_path: Path) -> None:
    command = ["gen", "describe", copied, "--protocol", "skill", "--protocol", "binary", "--seed", "3"]
    assert run_command(*command, "--name", "whole").returncode == 0
    whole = Dataset.open(copied).benchmark("whole")
    ids = whole.items["item_id"].to_pylist()
    listed = tmp_path / "listed.txt"
    listed.write_text("\n".join(ids[::3]), encoding="utf-8")
    done = run_command(*command, "--name", "rest", "--without", listed, "--json")
    assert done.returncode == 0, done.stderr
    rest = Dataset.open(copied).benchmark("rest")
    kept = [item for item in whole.items.to_pylist() if item["item_id"] not in ids[::3]]
    assert [{**item, "item_id": None} for item in rest.items.to_pylist()] == [
        {**item, "item_id": None} for item in kept
    ]
    assert sum(n for what, n in json.loads(done.stdout)["dropped"].items() if "left out" in what) == len(ids[::3])
    verified = run_command("gen", "verify", copied, "--benchmark", "rest")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "nothing is written" in run_command(*command, "--name", "rest", "--without", listed).stderr
    listed.write_text("skill-elsewhere-0", encoding="utf-8")
    refused = run_command(*command, "--name", "rest", "--without", listed, "--replace")
    assert refused.returncode == 2
    assert "1 of 1 items to leave out are not among these texts, such as skill-elsewhere-0" in refused.stderr
    assert Dataset.open(copied).benchmark("rest").items.num_rows == rest.items.num_rows


def test_texts_that_are_there_are_kept_unless_they_are_to_be_replaced(copied: Path) -> None:
    command = ["gen", "describe", copied, "--protocol", "binary", "--name", "texts"]
    assert run_command(*command).returncode == 0
    assert run_command("gen", "verify", copied, "--benchmark", "texts").returncode == 0
    files = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    again = run_command(*command)
    assert again.returncode == 0
    assert "The benchmark texts is there already, made by the same request; nothing is written." in again.stderr
    other = run_command(*command, "--seed", "1")
    assert other.returncode == 2
    assert other.stderr.endswith(
        "has another benchmark texts: it has seed = 0, not 1; choose another --name, or add --replace, which removes "
        "that one "
        "and its certificate.\n"
    )
    assert {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()} == files
    assert run_command(*command, "--seed", "1", "--replace").returncode == 0
    assert not (copied / "benchmarks/texts/verify.json").exists()


def test_a_preset_of_texts_names_the_benchmark_and_is_certified(copied: Path) -> None:
    done = run_command("gen", "describe", copied, "--preset", "hard-positives2024", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["benchmark"] == "color-shape-3x3-b0-hard-positives2024"
    assert {kind for kind in data["items"] if not kind.startswith("train")} == {
        "hard_positives replace",
        "hard_positives swap",
    }
    judged = run_command("gen", "verify", copied, "--benchmark", data["benchmark"])
    assert judged.returncode == 0, judged.stdout + judged.stderr
