"""Perplexity under the cross-fitted trigram and under a causal language model, and the hardest
negative."""

from pathlib import Path

import numpy as np

from evaluator.audits.audit import AuditRequest, audit
from evaluator.audits.perplexity import CrossFitted, hardest
from evaluator.audits.sample import Kind, KindSample
from evaluator.models.ngram import NgramModel
from tests.evaluator.audits.benchmarks import only, pair, question, swaps, write
from tests.evaluator.conftest import score_json


def test_no_text_of_its_cluster_is_read_before_a_text_is_judged() -> None:
    """Neither the text itself, where it stands in another cluster too, nor others of the
    cluster."""
    mine = [
        question("a red cube", "a blue cube", cluster="1"),
        question("a cube red", "a cube blue", cluster="1"),
    ]
    others = [
        question("a red cube", "a green sphere", cluster="2"),
        question("a big dog", "a small dog", cluster="3"),
    ]
    kind = Kind("p", "k", None, None, "c")
    model = CrossFitted([KindSample(kind, 4, [*mine, *others])], 0)
    alone = NgramModel(["a green sphere", "a big dog", "a small dog"])
    alone._vocabulary_size = model._model._vocabulary_size
    judged = alone.perplexities(mine[0].texts)
    assert model.judge(mine)[0].tolist() == [judged[text] for text in mine[0].texts]


def test_texts_too_long_or_empty_are_unscored_and_counted(gpt2: Path, tmp_path: Path) -> None:
    long = "a red cube and " * 4
    entries = [pair("a red cube", "a blue cube"), pair(long + "a", long + "and")]
    kind = only(
        audit(AuditRequest(write(tmp_path / "d", entries), language_model=str(gpt2), device="cpu"))
    )["perplexity"]
    assert (kind["pairs"], kind["unscored"]) == (1, 1)
    kind = only(
        audit(
            AuditRequest(write(tmp_path / "e", entries[1:]), language_model=str(gpt2), device="cpu")
        )
    )["perplexity"]
    assert (kind["pairs"], kind["unscored"], kind["r"], kind["size"]) == (0, 1, None, None)


def test_the_hardest_negative_is_the_nearest_in_perplexity() -> None:
    assert [
        hardest(np.array(v)) for v in ([5, 1, 6], [5, 4, 6], [5, np.nan, 90], [np.nan, 1, 2])
    ] == [2, 1, 2, 1]


def test_an_audit_with_a_causal_model_from_the_shell(gpt2: Path, tmp_path: Path) -> None:
    entries = [pair(true, false, cluster=cluster) for true, false, cluster in swaps(30)]
    arguments = (
        "audit",
        write(tmp_path / "d", entries),
        "--language-model",
        gpt2,
        "--device",
        "cpu",
    )
    results = score_json(*arguments)
    assert results["language_model"] == {
        "name": str(gpt2),
        "class": "GPT2LMHeadModel",
        "start_token": 0,
    }
    assert results["kinds"][0]["perplexity"]["pairs"] == 30
    assert results == score_json(*arguments)
