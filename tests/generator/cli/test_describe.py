"""`gen describe`: new texts over the same images and splits."""

import json
from pathlib import Path

import pytest

from generator.dataset.reader import Dataset
from tests.conftest import refuse, succeed
from tests.generator.cli.test_split import contents


def test_new_texts_keep_the_splits(copied: Path) -> None:
    done = succeed("gen describe --protocol binary --seed 3 --json", copied)
    data = json.loads(done.stdout)
    assert data["benchmark"] == "color-shape-3x3-b0-texts"
    assert data["scenes"] == {"train": 110, "val": 4, "seen": 20, "partial": 20, "unseen": 20}
    assert "each decided on its scene" in done.stderr
    first, texts = (
        Dataset.open(copied).benchmark(name) for name in ("color-shape-3x3-b0", data["benchmark"])
    )
    assert texts.splits["split"].to_pylist() == first.splits["split"].to_pylist()
    assert texts.items.num_rows == sum(data["items"].values())


@pytest.mark.full
def test_listed_items_are_left_out_and_the_others_stay_as_they_are(
    copied: Path, tmp_path: Path
) -> None:
    command = f"gen describe {copied} --protocol skill --protocol binary --seed 3 --name "
    succeed(command + "whole")
    whole = Dataset.open(copied).benchmark("whole")
    ids = whole.items["item_id"].to_pylist()
    listed = tmp_path / "listed.txt"
    listed.write_text("\n".join(ids[::3]), encoding="utf-8")
    done = succeed(command + f"rest --without {listed} --json")
    rest = Dataset.open(copied).benchmark("rest")
    remaining = [item for item in whole.items.to_pylist() if item["item_id"] not in ids[::3]]
    assert [{**item, "item_id": None} for item in rest.items.to_pylist()] == [
        {**item, "item_id": None} for item in remaining
    ]
    assert sum(
        n for what, n in json.loads(done.stdout)["dropped"].items() if "left out" in what
    ) == len(ids[::3])
    succeed("gen verify --benchmark rest", copied)
    assert "nothing is written" in succeed(command + f"rest --without {listed}").stderr
    listed.write_text("skill-elsewhere-0", encoding="utf-8")
    message = "1 of 1 items to leave out are not among these texts, such as skill-elsewhere-0"
    refuse(message, command + f"rest --without {listed} --replace")
    assert Dataset.open(copied).benchmark("rest").items.num_rows == rest.items.num_rows


def test_texts_that_are_there_are_kept_unless_they_are_to_be_replaced(copied: Path) -> None:
    command = f"gen describe {copied} --protocol binary --name texts"
    succeed(command)
    succeed("gen verify --benchmark texts", copied)
    before = contents(copied)
    second = succeed(command)
    assert (
        "The benchmark texts already exists, made by the same request; nothing is written."
        in second.stderr
    )
    refuse(
        "has another benchmark texts: it has seed = 0, not 1; choose another --name",
        command + " --seed 1",
    )
    assert contents(copied) == before
    succeed(command + " --seed 1 --replace")
    assert not (copied / "benchmarks/texts/verify.json").exists()


def test_a_preset_of_texts_names_the_benchmark_and_is_certified(copied: Path) -> None:
    data = json.loads(succeed("gen describe --preset hard-positives2024 --json", copied).stdout)
    assert data["benchmark"] == "color-shape-3x3-b0-hard-positives2024"
    kinds = {kind for kind in data["items"] if not kind.startswith("train")}
    assert kinds == {"hard_positives replace", "hard_positives swap"}
    succeed("gen verify --benchmark color-shape-3x3-b0-hard-positives2024", copied)
