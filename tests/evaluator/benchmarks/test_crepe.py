"""CREPE's files: negatives as CSV and JSON have them, kinds, splits, boxes."""

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from evaluator.benchmarks.crepe import NO_NEGATIVE, read_crepe
from generator.base.errors import UserError
from tests.evaluator.benchmarks.conftest import write_crepe


def test_a_caption_with_negatives_of_all_kinds_is_asked_with_all(tmp_path: Path) -> None:
    questions = list(read_crepe(write_crepe(tmp_path)))
    # Regions of one image are one cluster.
    assert {question.cluster for question in questions} == {"VG_100K/7.jpg"}
    whole = next(question for question in questions if question.labels.kind == "all")
    same_caption = [question for question in questions if question.texts[0] == whole.texts[0]]
    parts = [question for question in same_caption if question is not whole]
    assert set(whole.texts) == {text for part in parts for text in part.texts}
    assert (whole.details.counts, whole.truths) == ((4, None, None), ((True, *[False] * 7),))
    assert "blue cup, atom 4 it's" in whole.texts  # a quote within a text of a CSV cell


def test_a_caption_that_lacks_negatives_of_a_kind_is_not_asked_with_all(tmp_path: Path) -> None:
    """The other captions of its file are; one without any is excluded three times."""
    write_crepe(tmp_path)
    for kind in ("swap", "atom", "negate"):
        file = next(tmp_path.rglob(f"prod_vg_hard_negs_{kind}_complexity_4.csv"))
        rows = pd.read_csv(file, index_col=0)
        rows.loc[[0, 1] if kind == "swap" else [0], "hard_negs"] = "[]"
        rows.to_csv(file)
    questions = list(read_crepe(tmp_path))
    kinds = Counter(question.labels.kind for question in questions)
    assert kinds == {"atom": 7, "swap": 7, "neg": 7, "all": 5}
    reasons = Counter(question.omissions.excluded for question in questions)
    assert reasons == {"": 22, NO_NEGATIVE: 4}


@pytest.mark.parametrize("negatives", ["a red cup", "[1]", "['']", "__import__('os')", "[" * 9000])
def test_negatives_that_are_no_texts_are_refused(tmp_path: Path, negatives: str) -> None:
    file = tmp_path / "prod_vg_hard_negs_atom_complexity_4.csv"
    file.write_text(f'image_id,caption,x,y,width,height,hard_negs\n1,a cup,0,0,3,3,"{negatives}"\n')
    with pytest.raises(
        UserError, match=r"Row 0 of .* as its 'hard_negs'; expected a list of texts"
    ):
        list(read_crepe(file))


def test_a_file_of_another_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "captions.csv").write_text("a\n1\n")
    with pytest.raises(
        UserError, match=r"captions.csv is not a file of CREPE: expected prod_vg_hard_negs_KIND"
    ):
        list(read_crepe(tmp_path))
