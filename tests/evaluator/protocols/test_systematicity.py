"""R@1, R@3 and their mean against their definitions in plain Python."""

from pathlib import Path

from evaluator.protocols.registry import find_protocol
from evaluator.runs.measure import measure
from generator.dataset.reader import Dataset
from tests.evaluator.synthetic import Builder, planted, write_run


def test_captions_alone_are_asked_raw_only_and_relations_have_rows_of_their_own(tmp_path: Path) -> None:
    builder = Builder(0, 40)
    for i in range(60):
        builder.add("systematicity", "raw", [("c", True, None)], "attribute")
        foils = [("n", False, "atom")] * 4
        builder.add("systematicity", "atom", [("c", True, None), *foils], ("attribute", "relation")[i % 2])
    run = write_run(builder.write(tmp_path / "d"), tmp_path / "run", lambda n: planted(builder.rng, n))
    rows = measure(run)["rows"]
    assert {row["kind"] for row in rows if row["metric"] == "R@1"} == {"atom"}
    of_skill = [row for row in rows if row["metric"] == "R@1" and row["skill"] and not row["is_gap"]]
    pooled = [row for row in rows if row["metric"] == "R@1" and not row["skill"] and not row["is_gap"]]
    assert {row["skill"] for row in of_skill} == {"attribute", "relation"}
    assert sum(row["items"] for row in of_skill) == sum(row["items"] for row in pooled) == 60
    assert all(row["unscored"] == 0 for row in pooled)
    folds = find_protocol("systematicity").folds(Dataset.open(tmp_path / "d").benchmark("all"))
    alone = {row["text_id"] for row in builder.candidates if row["item_id"] in _raw(builder)}
    assert alone & {text for fold in folds for text in fold.texts}


def _raw(builder: Builder) -> set[str]:
    return {row["item_id"] for row in builder.items if row["kind"] == "raw"}
