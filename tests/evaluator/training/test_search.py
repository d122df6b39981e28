"""--search: every combination is trained and scored on the validation splits alone, the best is kept, and a stopped search goes on."""

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator import Dataset, evaluate
from evaluator.training.finetune import finetune
from evaluator.training.fit import DivergedError
from evaluator.training.labclip import train_labclip
from evaluator.training.lora import Lora
from evaluator.training.presets import PRESETS
from evaluator.training.search import Candidate, parse_search, search, validation_splits
from evaluator.training.source import benchmark_source
from generator.base.errors import UserError
from tests.evaluator.conftest import SHORT_TRAINING, Tiny, assert_one_sentence, score_command
from tests.evaluator.training.conftest import together

CANDIDATES = parse_search(["rate=1e-6,1e-1", "epochs=1,3"], ["rate", "epochs"])
Train = Callable[[Candidate, Path], dict[str, Any]]


@pytest.fixture
def base(tiny: Callable[..., Tiny], tmp_path: Path) -> str:
    return f"open_clip:tiny@{tiny().save(tmp_path / 'tiny.pt')}"


@pytest.fixture(scope="module")
def single(class_lists: Path) -> Dataset:
    return Dataset.open(class_lists, "gzsl-single-b0")


@pytest.fixture
def train(base: str, single: Dataset) -> Train:
    """Aligns the tiny model; `asked` has the folders of the candidates that it was asked for."""
    recipe = replace(PRESETS["labclip-pug"].recipe, batch=8)
    source = benchmark_source(single.world, single.benchmark, recipe)  # type: ignore[arg-type]

    def train(candidate: Candidate, out: Path) -> dict[str, Any]:
        train.asked.append(out.name)  # type: ignore[attr-defined]
        return train_labclip(base, source, replace(recipe, **candidate), out, "cpu")

    train.asked = []  # type: ignore[attr-defined]
    return train


@pytest.mark.full
def test_the_best_on_the_mean_of_both_validation_splits_is_kept(train: Train, single: Dataset, tmp_path: Path) -> None:
    record = search(CANDIDATES, train, tmp_path / "out", single, {"a": 1}, "cpu")
    found = record["search"]
    assert found["splits"] == ["id_val", "ood_val"]
    assert [{name: row[name] for name in ("rate", "epochs")} for row in found["candidates"]] == CANDIDATES
    work = tmp_path / "out.search"
    for row, name in zip(found["candidates"], train.asked, strict=True):  # type: ignore[attr-defined]
        rows = evaluate(f"jackalope:{work / name}", single, allow_contaminated=True, device="cpu").results["rows"]
        shares = {each["split"]: each["value"] for each in rows if each["metric"] == "GZSL" and not each["is_gap"]}
        assert (row["id_val"], row["ood_val"]) == pytest.approx((shares["id_val"], shares["ood_val"]), abs=1e-5)
        assert row["mean"] == pytest.approx((shares["id_val"] + shares["ood_val"]) / 2, abs=1e-5)
        run = json.loads((work / f"{name}.run" / "run.json").read_text())
        assert run["split"] == ["id_val", "ood_val"]
        assert {each["split"] for each in csv.DictReader((work / f"{name}.run/tables/items.csv").open())} == {
            "id_val",
            "ood_val",
        }
    means = [row["mean"] for row in found["candidates"]]
    assert found["best"] == means.index(max(means))
    assert len(set(means)) > 1
    best = work / train.asked[found["best"]]  # type: ignore[attr-defined]
    weights = "open_clip_model.safetensors"
    assert (tmp_path / "out" / weights).read_bytes() == (best / weights).read_bytes()
    assert json.loads((tmp_path / "out" / "jackalope.json").read_text()) == record
    table = list(csv.DictReader((work / "candidates.csv").open()))
    assert [float(row["mean"]) for row in table] == pytest.approx(means)
    assert [float(row["rate"]) for row in table] == [each["rate"] for each in CANDIDATES]
    evaluate(f"jackalope:{tmp_path / 'out'}", single, limit=1, allow_contaminated=True, device="cpu")


def test_a_search_that_was_stopped_trains_no_candidate_again(train: Train, single: Dataset, tmp_path: Path) -> None:
    few = [CANDIDATES[0], CANDIDATES[3]]
    search(few, train, tmp_path / "whole", single, {"a": 1}, "cpu")
    asked = len(train.asked)  # type: ignore[attr-defined]

    def stopped(candidate: Candidate, out: Path) -> dict[str, Any]:
        if candidate == few[1]:
            raise KeyboardInterrupt
        return train(candidate, out)

    with pytest.raises(KeyboardInterrupt):
        search(few, stopped, tmp_path / "out", single, {"a": 1}, "cpu")
    assert not (tmp_path / "out").exists()
    search(few, train, tmp_path / "out", single, {"a": 1}, "cpu")
    assert len(train.asked) == asked + 2  # type: ignore[attr-defined]
    record = search(few, train, tmp_path / "out", single, {"a": 1}, "cpu")
    assert len(train.asked) == asked + 2  # type: ignore[attr-defined]
    assert record == json.loads((tmp_path / "out" / "jackalope.json").read_text())
    for path in (tmp_path / "whole").iterdir():
        assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()
    for name in ("candidates.csv", "search.json"):
        assert (tmp_path / "out.search" / name).read_bytes() == (tmp_path / "whole.search" / name).read_bytes()


@pytest.mark.full
def test_two_processes_search_together(train: Train, single: Dataset, tmp_path: Path) -> None:
    """And again, where all candidates are finished."""
    few = [CANDIDATES[0], CANDIDATES[3]]
    alone = search(few, train, tmp_path / "alone", single, {}, "cpu")
    for _ in range(2):
        found = together(2, lambda rank: search(few, train, tmp_path / "shared", single, {}, "cpu"))
        assert found[0] == found[1] == alone
        for path in (tmp_path / "alone").iterdir():
            assert (tmp_path / "shared" / path.name).read_bytes() == path.read_bytes()
        shutil.rmtree(tmp_path / "shared")


def test_another_search_in_the_folder_and_a_full_folder_are_refused(
    train: Train, single: Dataset, tiny: Callable[..., Tiny], tmp_path: Path
) -> None:
    few = CANDIDATES[:1]
    search(few, train, tmp_path / "out", single, {"a": 1}, "cpu")
    with pytest.raises(UserError, match="out is not empty; choose another --out"):
        search(few, train, tmp_path / "out", single, {"a": 2}, "cpu")
    with pytest.raises(UserError, match="out is not empty; choose another --out"):
        search(CANDIDATES[:2], train, tmp_path / "out", single, {"a": 1}, "cpu")
    shutil.rmtree(tmp_path / "out")
    with pytest.raises(UserError, match=r"out\.search holds another search"):
        search(few, train, tmp_path / "out", single, {"a": 2}, "cpu")
    state = {name: each + 1 if each.is_floating_point() else each for name, each in tiny().state.items()}
    Tiny("tiny", tiny().config, state).save(tmp_path / "tiny.pt")
    with pytest.raises(UserError, match="The weights of the model changed while"):
        search(CANDIDATES[:2], train, tmp_path / "out", single, {"a": 1}, "cpu")


def test_a_candidate_that_diverges_is_named_and_not_chosen(train: Train, single: Dataset, tmp_path: Path) -> None:
    def diverging(candidate: Candidate, out: Path) -> dict[str, Any]:
        if candidate["rate"] > 1e-2:
            raise DivergedError("Training diverged at step 7 of 9.", 7)
        return train(candidate, out)

    record = search(CANDIDATES, diverging, tmp_path / "out", single, {}, "cpu")
    assert [row["diverged"] for row in record["search"]["candidates"]] == ["", "", "step 7", "step 7"]
    assert [row["mean"] is None for row in record["search"]["candidates"]] == [False, False, True, True]
    with pytest.raises(UserError, match="All 2 candidates diverged; search lower rates"):
        search(CANDIDATES[2:], diverging, tmp_path / "other", single, {}, "cpu")


def test_benchmarks_without_class_lists_select_by_val_alone(drawn: Path, base: str, tmp_path: Path) -> None:
    pytest.importorskip("peft")
    dataset = Dataset.open(drawn)
    recipe = replace(PRESETS["bindsplit2026"].recipe, epochs=1, batch=48)
    source = benchmark_source(dataset.world, dataset.benchmark, recipe)  # type: ignore[arg-type]

    def train(candidate: Candidate, out: Path) -> dict[str, Any]:
        lora = None if candidate["lora"] == "none" else Lora(2, 4)
        return finetune(base, source, recipe, out, "cpu", lora)

    record = search(parse_search(["lora=none,2/4"], ["lora"]), train, tmp_path / "out", dataset, {}, "cpu")
    assert record["search"]["splits"] == ["val"]
    for row, name in zip(record["search"]["candidates"], ("lora-none", "lora-2_4"), strict=True):
        rows = evaluate(
            f"jackalope:{tmp_path / 'out.search' / name}", dataset, within="val", device="cpu", allow_contaminated=True
        )
        shares = [
            each["value"]
            for each in rows.results["rows"]
            if each["metric"] in ("accuracy", "R@1") and each["kind"] in (None, "swap", "grid")
        ]
        assert row["mean"] == row["val"] == pytest.approx(sum(shares) / len(shares), abs=1e-5)


def test_protocols_and_a_limit_make_a_search_cheaper(drawn: Path, base: str, tmp_path: Path) -> None:
    """They are recorded, and what was scored in another way is no part of this search."""
    given = (
        "train",
        "labclip",
        base,
        drawn,
        *SHORT_TRAINING,
        "--out",
        tmp_path / "m",
    )
    few = ("--search", "rate=1e-6", "--protocol", "binary", "--limit")
    done = score_command(*given, *few, "2")
    assert done.exit_code == 0, done.stderr
    search = json.loads((tmp_path / "m" / "jackalope.json").read_text())["search"]
    assert (search["splits"], search["protocols"], search["limit"]) == (["val"], ["binary"], 2)
    (folder,) = (tmp_path / "m.search").glob("*.run")
    run = json.loads((folder / "run.json").read_text())
    assert (run["protocols"], run["limit"], run["split"]) == (["binary"], 2, ["val"])
    assert score_command(*given, *few, "3").stderr.endswith("m is not empty; choose another --out.\n")
    shutil.rmtree(tmp_path / "m")
    assert "m.search holds another search" in score_command(*given, *few, "3").stderr


def test_what_selects_has_items_of_each_split(single: Dataset, drawn: Path, tmp_path: Path) -> None:
    def train(candidate: Candidate, out: Path) -> dict[str, Any]:
        raise AssertionError("nothing is trained")

    with pytest.raises(
        UserError, match=r"The limit of 1 items leaves none of \w+_val, by which --search selects; take a larger"
    ):
        search(CANDIDATES, train, tmp_path / "out", single, {}, "cpu", limit=1)
    with pytest.raises(UserError, match="The protocol 'train' has no items of val, by which --search selects"):
        search(CANDIDATES, train, tmp_path / "out", Dataset.open(drawn, protocols="train"), {}, "cpu")
    done = score_command("train", "labclip", "open_clip:a@b", drawn, "--out", tmp_path / "out", "--limit", "3")
    assert_one_sentence(
        done, "--protocol and --limit choose what --search selects by; leave them out, or give --search."
    )


def test_a_benchmark_without_validation_items_is_refused(single: Dataset) -> None:
    none = Dataset(single.source, single.world, single.benchmark)
    kept = [split != "ood_val" for split in single.benchmark.items["split"].to_pylist()]
    vars(none)["benchmark"] = type("Part", (), {"items": single.benchmark.items.filter(kept), "name": "b"})
    with pytest.raises(UserError, match=r"has no items of the split ood_val, by which --search selects; render scenes"):
        validation_splits(none)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["rat=1"], "Unknown name 'rat' in --search rat=1; did you mean 'rate'?"),
        (["rate=1e-6", "rate=1e-5"], "Expected one --search of rate, got two"),
        (["rate="], "Expected --search rate to be numbers above 0, joined by commas, got ''"),
        (["rate=nan"], "numbers above 0"),
        (["epochs=1.5"], "Expected --search epochs to be whole numbers from 1, joined by commas, got '1.5'"),
        (["images-per-class=0"], "Expected --search images-per-class to be whole numbers from 1"),
        (["lora=x"], "Expected --lora to be rank/alpha"),
    ],
)
def test_mistakes_of_a_search_are_one_sentence(given: list[str], said: str) -> None:
    with pytest.raises(UserError) as error:
        parse_search(given, ["rate", "epochs", "images-per-class", "lora"])
    assert said in error.value.message


def test_combinations_are_in_the_order_given() -> None:
    assert parse_search([], ["rate"]) == []
    assert parse_search(["lora=8,8/16,none", "images-per-class=2"], ["lora", "images-per-class"]) == [
        {"lora": "8/16", "images_per_class": 2}, {"lora": "none", "images_per_class": 2},
    ]  # fmt: skip


def test_the_commands_search(class_lists: Path, drawn: Path, base: str, tmp_path: Path) -> None:
    finetuned = (
        "train",
        "finetune",
        base,
        class_lists,
        "--benchmark",
        "gzsl-single-b0",
        "--device",
        "cpu",
        "--batch",
        "8",
    )
    out = ("--out", tmp_path / "m")
    done = score_command(
        *finetuned, *out, "--epochs", "1", "--search", "rate=1e-6,1e-3", "--search", "images-per-class=2"
    )
    assert done.exit_code == 0, done.stderr
    assert "Best of 2 by id_val and ood_val: rate-" in done.stderr
    record = json.loads((tmp_path / "m" / "jackalope.json").read_text())
    best = record["search"]["candidates"][record["search"]["best"]]
    assert (record["recipe"]["rate"], record["recipe"]["images_per_class"]) == (best["rate"], best["images_per_class"])
    assert done.stdout == f"{tmp_path / 'm'}\n"
    other = ("--out", tmp_path / "other")
    assert_one_sentence(
        score_command(*finetuned, *other, "--rate", "1", "--search", "rate=1"),
        "Expected either --rate or --search rate=..., got both",
    )
    (tmp_path / "c.jsonl").write_text(json.dumps({"image": "a.png", "caption": "a cube"}))
    image = next((drawn / "world" / "images").iterdir())
    shutil.copy(image, tmp_path / "a.png")
    done = score_command("train", "labclip", base, tmp_path / "c.jsonl", *other, "--search", "rate=1")
    assert done.exit_code == 2
    assert "c.jsonl has no validation splits, by which --search selects; give a dataset" in done.stderr
