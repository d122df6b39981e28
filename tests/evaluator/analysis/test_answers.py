"""Answers of runs and of tables: what is read, what is refused, and which items are compared."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evaluator.analysis.answers import Answers, match, match_blocks, read_answers
from generator.base.errors import UserError
from generator.base.files import read_json, write_json


@pytest.fixture
def run(runs: list[Path], tmp_path: Path) -> Path:
    return shutil.copytree(runs[0], tmp_path / "run")


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def answers_of(
    model: str, items: str, correct: list[float], source: str = "", **labels: str
) -> Answers:
    """The answers to items of one letter each; labels have one letter an item too."""
    columns = {name: np.array(list(values), dtype=object) for name, values in labels.items()}
    item = np.array(list(items), dtype=object)
    return Answers(
        model=model,
        source=source or model,
        benchmark=None,
        block=None,
        design={},
        item=item,
        correct=np.array(correct, dtype=float),
        labels=columns,
    )


def test_a_run_is_read_without_its_dataset(run: Path) -> None:
    record = read_json(run / "run.json")
    write_json(run / "run.json", {**record, "dataset": "/nowhere"})
    (answers,) = read_answers(str(run))
    assert (answers.model, answers.source) == ("random", str(run))
    assert answers.benchmark == ("all", record["benchmark"], record["world"])
    table = pd.read_csv(run / "tables" / "items.csv", low_memory=False)
    main = table[table["metric"] == table.groupby("protocol")["metric"].transform("first")]
    assert answers.item.tolist() == main["item_id"].tolist()
    assert np.array_equal(answers.correct, main["value"], equal_nan=True)
    assert np.isnan(answers.correct).sum() == 2
    kinds = (
        main["kind"].fillna(main["skill"]).fillna("")
    )  # a skill tells items apart where they have no kind
    assert answers.labels["kind"].tolist() == kinds.tolist()
    for label in ("protocol", "metric", "split", "cluster"):
        assert answers.labels[label].tolist() == main[label].tolist()


def test_a_model_is_named_by_its_channel_where_it_is_not_the_first(run: Path) -> None:
    record = read_json(run / "run.json")
    write_json(run / "run.json", {**record, "channels": ["itm", "cosine"]})
    assert read_answers(str(run))[0].model == "random (cosine)"
    assert read_answers(f"mine={run}")[0].model == "mine"


def test_a_protocol_without_right_and_wrong_items_is_left_out_and_named(
    run: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = run / "tables" / "items.csv"
    table = pd.read_csv(path, low_memory=False)
    table.loc[(table["protocol"] == "gzsl") & (table["metric"] == "GZSL"), "value"] = 0.5
    table.to_csv(path, index=False)
    (answers,) = read_answers(str(run))
    assert "gzsl" not in set(answers.labels["protocol"])
    assert f"{run}: 'gzsl' is not compared" in caplog.text
    table[table["protocol"] == "gzsl"].to_csv(path, index=False)
    with pytest.raises(UserError, match="has no items that are right or wrong"):
        read_answers(str(run))


def test_a_table_without_a_metric_is_not_compared_with_pairs_of_images(
    run: Path, tmp_path: Path
) -> None:
    """Its items have the names of images, and `correct` is about each of them."""
    path = run / "tables" / "items.csv"
    items = pd.read_csv(path, low_memory=False)
    of_binary = items[items["protocol"] == "binary"]
    matching = of_binary.assign(metric="matching", value=1)
    pd.concat([of_binary, matching]).to_csv(path, index=False)
    results = read_json(run / "results.json")
    for row in results["rows"]:
        row["is_main"] = row["protocol"] == "binary"
        if row["protocol"] == "binary":
            row["metric"] = "matching"
    write_json(run / "results.json", results)

    table = tmp_path / "theirs.csv"
    columns = {"item": of_binary["item_id"], "correct": 0, "cluster": of_binary["cluster"]}
    pd.DataFrame(columns).to_csv(table, index=False)
    answers = [*read_answers(str(run)), *read_answers(str(table))]
    with pytest.raises(UserError, match=r"theirs.csv has no column 'metric'.*--metric accuracy"):
        match_blocks(answers)

    # The user says which metric the table holds.
    both = [*read_answers(str(run), "accuracy"), *read_answers(str(table), "accuracy")]
    (matched,) = match_blocks(both)
    assert set(matched.labels["metric"]) == {"accuracy"}


def test_tables_are_read_as_they_are_written(tmp_path: Path) -> None:
    csv = write(
        tmp_path / "clip.csv",
        '\ufeff"item",correct,cluster,split\n007,1,a,seen\n08,False,a,seen\n9,,b,unseen\n',
    )
    (answers,) = read_answers(csv)
    assert (answers.model, answers.source, answers.benchmark) == ("clip", csv, None)
    assert answers.item.tolist() == ["007", "08", "9"]
    assert answers.correct[:2].tolist() == [1, 0]
    assert np.isnan(answers.correct[2])
    assert {name: values.tolist() for name, values in answers.labels.items()} == {
        "cluster": ["a", "a", "b"],
        "split": ["seen", "seen", "unseen"],
    }
    for correct in ([True, False, None], [1, 0, None], [1.0, 0.0, None]):
        pd.DataFrame({"item": [7, 8, 9], "correct": correct, "cluster": [1, 1, 2]}).to_parquet(
            tmp_path / "t.parquet"
        )
        (answers,) = read_answers(str(tmp_path / "t.parquet"))
        assert answers.item.tolist() == ["7", "8", "9"]
        assert np.array_equal(answers.correct, [1, 0, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.CSV", "item,correct,cluster\n7,1,a\n8,0,b\n"),
        ("a.tsv", "item\tcorrect\tcluster\n7\t1\ta\n8\t0\tb\n"),
        (
            "a.jsonl",
            '{"item": 7, "correct": true, "cluster": "a"}\n{"item": 8, "correct": false, '
            '"cluster": "b"}\n',
        ),
        (
            "a.json",
            '[{"item": 7, "correct": 1, "cluster": "a"}, {"item": 8, "correct": 0, "cluster": "b"}]',
        ),
    ],
)
def test_answers_are_read_from_every_form_of_table(tmp_path: Path, name: str, text: str) -> None:
    (answers,) = read_answers(write(tmp_path / name, text))
    assert (answers.item.tolist(), answers.correct.tolist()) == (["7", "8"], [1, 0])


def test_a_table_may_hold_several_models_and_name_protocols_and_kinds(tmp_path: Path) -> None:
    text = "item,correct,cluster,model,protocol,kind\n1,1,a,x,p,k\n1,0,a,y,p,k\n2,1,b,y,p,l\n"
    path = write(tmp_path / "t.csv", text)
    first, second = read_answers(path)
    assert (first.model, first.source, second.model) == ("x", f"{path} (x)", "y")
    assert second.labels["kind"].tolist() == ["k", "l"]
    assert second.labels["protocol"].tolist() == ["p", "p"]
    with pytest.raises(UserError, match="leave out 'z='"):
        read_answers(f"z={path}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,cluster\n1,a\n", "lacks the column 'correct'; expected item, correct, cluster and"),
        ("item,correct\n1,1\n", "lacks the column 'cluster'"),
        ("item,correct,cluster\n", "has no rows"),
        ("", "cannot be read as csv"),
        ("item,correct,cluster\n1,0.5,a\n", "got '0.5' for the item '1'"),
        ("item,correct,cluster\n1,yes,a\n", "to be 0, 1, true, false, or empty"),
        ("item,correct,cluster\n1,1,a\n1,0,a\n", "has the item '1' 2 times for the model 't'"),
        ("item,correct,cluster\n1,1,\n", "has rows without 'cluster'"),
        ("item,correct,cluster\n,1,a\n", "has rows without 'item'"),
        ("item,correct,cluster\n1,1,a,5\n", "cannot be read as csv"),
        ("item,correct,cluster,correct\n1,1,a,0\n", "has the column 'correct' twice; keep one"),
    ],
)
def test_a_table_that_cannot_be_meant_is_one_sentence(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(UserError) as error:
        read_answers(write(tmp_path / "t.csv", text))
    assert message in error.value.message
    assert error.value.message.endswith(".")
    assert "\n" not in error.value.message


def test_a_file_that_is_neither_run_nor_table_is_refused(run: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "notes.txt", "")
    write(tmp_path / "broken.parquet", "no parquet")
    for source, message in (
        ("empty", "is not a finished run"),
        ("notes.txt", "Expected the folder of a run, or a table that ends in .csv, .tsv"),
        ("nowhere.csv", "give one that exists"),
        ("broken.parquet", "is damaged"),
    ):
        with pytest.raises(UserError, match=message):
            read_answers(str(tmp_path / source))
    (run / "results.json").unlink()
    with pytest.raises(UserError, match=f"score measure {run}"):
        read_answers(str(run))


def test_a_path_may_hold_an_equals_sign(tmp_path: Path) -> None:
    path = write(tmp_path / "a=b.csv", "item,correct,cluster\n1,1,a\n")
    assert read_answers(path)[0].model == "a=b"
    assert read_answers(f"c={path}")[0].model == "c"


def test_items_that_not_all_runs_answered_are_left_out_and_counted() -> None:
    nan = float("nan")
    first = answers_of(
        "x", "abcdefgh", [1, 1, 0, 0, 1, 1, nan, 1], split="sssssssu", cluster="11112222"
    )
    second = answers_of("y", "hgfedcb", [0, 1, 1, 1, 0, 0, 1], split="ussssst", cluster="2222911")
    matched = match([first, second])
    assert matched.left_out == {
        "items": 8,
        "compared": 4,
        "missing": {"y": {"items": 1, "first": ["a"]}},
        "unscored": {"x": {"items": 1, "first": ["g"]}},
        "mismatched": {
            "split": {"items": 1, "first": ["b"]},
            "cluster": {"items": 1, "first": ["d"]},
        },
    }
    assert matched.correct.tolist() == [[0, 1, 1, 1], [0, 1, 1, 0]]  # of c, e, f and h
    assert matched.labels["split"].tolist() == ["s", "s", "s", "u"]
    assert matched.labels["protocol"].tolist() == [""] * 4
    assert matched.models == {"x": [0], "y": [1]}


def test_labels_that_only_one_source_has_hold_for_all() -> None:
    plain, labelled = (
        answers_of("x", "ab", [1, 0]),
        answers_of("y", "ba", [1, 1], split="us", cluster="12", kind="kk"),
    )
    matched = match([plain, labelled, answers_of("x", "ab", [0, 0], "other")])
    assert matched.labels["split"].tolist() == ["s", "u"]
    assert matched.models == {"x": [0, 2], "y": [1]}
    assert matched.left_out["mismatched"] == {}


def test_a_run_and_a_table_of_its_items_are_matched(run: Path, tmp_path: Path) -> None:
    (answers,) = read_answers(str(run))
    table = pd.DataFrame({"item": answers.item, "correct": 1, "cluster": answers.labels["cluster"]})
    table.to_csv(tmp_path / "right.csv", index=False)
    matched = match([*read_answers(str(tmp_path / "right.csv")), answers])
    assert matched.left_out["compared"] == len(answers.item) - 2
    assert set(matched.labels["protocol"]) == set(answers.labels["protocol"])


def test_nothing_in_common_and_other_benchmarks_are_refused() -> None:
    with pytest.raises(
        UserError, match=r"y has no item that all runs before it have \(it has 'c', x has 'a'\)"
    ):
        match([answers_of("x", "ab", [1, 1]), answers_of("y", "cd", [1, 1])])
    with pytest.raises(UserError, match="No item can be compared"):
        match([answers_of("x", "ab", [1, float("nan")]), answers_of("y", "ab", [float("nan"), 1])])
    blocks = [
        replace(answers_of("m", "a", [1], source), benchmark=("b", source, "w"))
        for source in ("r1", "r2")
    ]
    with pytest.raises(
        UserError, match="r1 and r2 were scored on two benchmarks that are not blocks of one design"
    ):
        match_blocks(blocks)
    blocks_of_sizes = [
        replace(block, block=block.source, design={"scenes": i}) for i, block in enumerate(blocks)
    ]
    with pytest.raises(
        UserError, match="r1 and r2 were scored on benchmarks that differ in 'scenes'"
    ):
        match_blocks(blocks_of_sizes)
    assert len(match_blocks([replace(block, design={}) for block in blocks_of_sizes])) == 2
