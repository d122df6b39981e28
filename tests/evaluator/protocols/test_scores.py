"""The scores of a run as protocols get them: candidates, pools and folds of the protocols that the run scored."""

from pathlib import Path

import numpy as np
import pytest

from evaluator.protocols.registry import find_protocol
from evaluator.runs.folder import open_run
from evaluator.runs.measure import read_scores, rules_of
from generator.base.errors import UserError
from generator.base.files import read_json, write_json


def test_folds_are_read_where_the_run_scored_them(folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "pools").mkdir(parents=True)
    (run / "scores.parquet").hardlink_to(folder / "scores.parquet")
    write_json(run / "run.json", {**read_json(folder / "run.json"), "raw_retrieval": ["systematicity"]})
    opened = open_run(run)
    scores = read_scores(opened, rules_of(opened))
    (name, folds), *others = scores.folds.items()
    assert (name, others) == ("systematicity", [])
    assert [fold.name for fold in folds] == [f.name for f in find_protocol(name).folds(opened.benchmark)]
    matrix = np.arange(len(folds[0].images) ** 2, dtype=np.float32).reshape(len(folds[0].images), -1)
    np.save(run / "pools" / f"{folds[0].name}.npy", matrix)
    rows, columns = slice(1, 4), slice(0, 3)
    assert np.array_equal(scores.matrix(folds[0]).block(rows, columns), matrix[rows, columns])
    sides = [np.full((len(folds[0].images), d), 0.5, np.float32) for d in (4, 5)]
    for of, embeddings in zip(("images", "texts"), (sides[0], sides[0]), strict=True):
        np.save(run / "pools" / f"{folds[0].name}.{of}.npy", embeddings)
    assert (scores.matrix(folds[0]).block(rows, columns) == 1).all()
    np.save(run / "pools" / f"{folds[0].name}.texts.npy", sides[1])
    with pytest.raises(UserError, match="embeddings of another width"):
        scores.matrix(folds[0])
