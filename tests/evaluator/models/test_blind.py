"""Baselines that read texts alone: the image makes no difference, and each agrees with a plain
count or loop."""

import math
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evaluator.metrics.comparison import tied
from evaluator.models.blind import LanguageModelScorer
from evaluator.models.contracts import BatchSize, Group
from evaluator.models.ngram import NgramModel
from evaluator.models.registry import load_model
from generator.base.files import read_json
from tests.conftest import succeed
from tests.evaluator.conftest import assert_one_sentence, score_command
from tests.evaluator.tiny_models import (
    LONGEST,
    TEXTS,
    pictures,
    scored,
)


def _load(kind: str, gpt2: Path) -> Any:
    model = load_model(f"blind:lm:{gpt2}" if kind == "lm" else f"blind:{kind}", "cpu")
    if model.fits_texts:
        model.fit_texts(TEXTS)
    return model


@pytest.mark.parametrize("kind", ["ngram", "length", "lm"])
def test_a_text_scores_alike_beside_every_image(kind: str, gpt2: Path) -> None:
    model = _load(kind, gpt2)
    scores = scored(model, pictures(), TEXTS, seed=0)
    assert (scores == scores[:1]).all()
    assert len(set(scores[0, :, 0].tolist())) == len(TEXTS)
    assert (scored(model, pictures()[:1], TEXTS[::-1])[0, ::-1] == scores[0]).all()
    apart = [_load(kind, gpt2).score_pairs([], [(9, text)])[0, 0] for text in TEXTS]
    assert tied(np.array(apart), scores[0, :, 0]).all()
    assert model.passes == 0
    assert model.score_pairs([], []).shape == (0, 1)


def test_the_shorter_text_wins() -> None:
    scores = scored(load_model("blind:length", "cpu"), pictures(), TEXTS)[0, :, 0]
    assert scores.tolist() == [-len(text) for text in TEXTS]


def _judged(text: str, by: Iterable[str]) -> float:
    """The score of a text by a trigram of some of the TEXTS, which knows the words of all."""
    model = NgramModel(by)
    model._vocabulary_size = NgramModel(TEXTS)._vocabulary_size
    return -np.log(model.perplexities([text])[text])


def test_a_trigram_judges_each_text_by_all_others(gpt2: Path) -> None:
    scores = scored(_load("ngram", gpt2), pictures(), TEXTS)[0, :, 0]
    assert scores == pytest.approx([_judged(text, {*TEXTS} - {text}) for text in TEXTS], abs=1e-5)


def test_a_trigram_that_judges_an_image_has_read_no_text_of_its_group() -> None:
    groups = [
        Group(frozenset("ab"), frozenset(TEXTS[:3])),
        Group(frozenset("c"), frozenset(TEXTS[2:])),
    ]
    model = load_model("blind:ngram", "cpu")
    model.fit_texts(TEXTS, groups)
    for image, group in (("a", groups[0]), ("b", groups[0]), ("c", groups[1])):
        expected = [_judged(text, {*TEXTS} - group.texts) for text in group.texts]
        scores = model.score_pairs([image], [(0, text) for text in group.texts])
        assert scores[:, 0] == pytest.approx(expected, abs=1e-5)
    both = model.score_pairs(["a", "c"], [(0, TEXTS[2]), (1, TEXTS[2]), (1, TEXTS[3])])
    assert both[0, 0] != both[1, 0]
    keys = {model.key}
    for other in ((), groups[::-1], groups[:1]):
        model.fit_texts(TEXTS, other)
        keys.add(model.key)
    assert len(keys) == 3  # the order of groups makes no difference


def test_a_run_asks_a_fitted_baseline_nothing_of_which_it_would_know_the_question(
    drawn: Path, tmp_path: Path
) -> None:
    """It once read the pool's texts of the run: the true ones of `unseen` won, those of `seen`
    lost."""
    out = tmp_path / "run"
    done = succeed("score run", drawn, "--model", "blind:ngram", "--out", out)
    results = read_json(out / "results.json")
    assert {row["protocol"] for row in results["rows"]} == {"binary"}
    assert list(results["not_asked"]) == ["retrieval"]
    assert (
        "Not asked: retrieval, since a model that is fitted on the texts of the run would know"
        in done.stdout
    )
    succeed("score report", out)
    assert "Not asked: retrieval" in (out.parent / "report.html").read_text()
    refused = score_command(
        "run",
        drawn,
        "--model",
        "blind:ngram",
        "--protocol",
        "retrieval",
        "--out",
        tmp_path / "other",
    )
    assert_one_sentence(
        refused, "blind:ngram cannot be asked 'retrieval'", "take blind:length or blind:lm:NAME"
    )


def test_no_image_is_read_for_a_baseline_that_reads_none(drawn_copy: Path, tmp_path: Path) -> None:
    for path in (drawn_copy / "world" / "images").iterdir():
        path.write_bytes(b"")
    succeed(
        "score run",
        drawn_copy,
        "--model",
        "blind:length",
        "--protocol",
        "binary",
        "--out",
        tmp_path / "run",
    )


def test_a_trigram_is_known_by_the_texts_it_was_fitted_on() -> None:
    keys = []
    for texts in (TEXTS, TEXTS[::-1] + TEXTS, TEXTS[1:]):
        model = load_model("blind:ngram", "cpu")
        model.fit_texts(texts)
        keys.append(model.key)
        assert model.info["fitted_texts"] == len(set(texts))
    assert keys[0] == keys[1] != keys[2]
    with pytest.raises(RuntimeError, match="fit_texts"):
        load_model("blind:ngram", "cpu").score_pairs([], [(0, "a")])


def test_a_trigram_counts_by_hand() -> None:
    """One word between start and end, seen in one text of two: 1/3 smoothed by (1/4 + 1)/3 and so
    on."""
    model = NgramModel(["x", "y"])
    first = last = 1 / 4
    for seen, all_seen in ((1, 4), (1, 2), (1, 2)):
        first = (seen + first) / (all_seen + 1)
    for seen, all_seen in ((2, 4), (1, 1), (1, 1)):
        last = (seen + last) / (all_seen + 1)
    assert model.perplexities(["x"])["x"] == pytest.approx(1 / math.sqrt(first * last))


def test_texts_are_asked_token_by_token(gpt2: Path) -> None:
    from transformers import AutoTokenizer, GPT2LMHeadModel

    library, tokenizer = (
        GPT2LMHeadModel.from_pretrained(gpt2).eval(),
        AutoTokenizer.from_pretrained(gpt2),
    )
    expected = []
    for text in TEXTS:
        ids = [0, *tokenizer(text, add_special_tokens=False)["input_ids"]]
        fitted = []
        for i in range(1, len(ids)):
            with torch.no_grad():
                fitted.append(
                    torch.log_softmax(library(torch.tensor([ids[:i]])).logits[0, -1], 0)[
                        ids[i]
                    ].item()
                )
        expected.append(sum(fitted) / len(fitted))
    for batch in (1, 2, 64):
        model = LanguageModelScorer(str(gpt2), "cpu", "blind:lm:")
        model.batch = BatchSize(batch, "text")
        assert model.mean_log_likelihoods(TEXTS) == pytest.approx(expected, abs=1e-4)


def test_another_tokenizer_is_told_by_the_tokens(gpt2: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(gpt2, tmp_path / "other"))
    file = folder / "tokenizer.json"
    file.write_text(
        file.read_text()
        .replace('"red"', '"RED"')
        .replace('"blue"', '"red"')
        .replace('"RED"', '"blue"')
    )
    mine, other = (
        load_model(f"blind:lm:{folder_or_copy}", "cpu").tokens(["a red cube", "a cube"])
        for folder_or_copy in (gpt2, folder)
    )
    assert (mine == other).all(axis=1).tolist() == [False, True]


def test_texts_without_a_likelihood(gpt2: Path) -> None:
    """Those that are too long or empty, and without a start token those of one token, which is
    context alone."""
    model = LanguageModelScorer(str(gpt2), "cpu", "--language-model")
    whole, *others = model.mean_log_likelihoods(["a red cube", "a " * LONGEST, ""])
    assert np.isfinite(whole)
    assert np.isnan(others).all()
    assert model.mean_log_likelihoods([]).shape == (0,)
    model._start = None
    without = model.mean_log_likelihoods(["a red cube", "red"])
    assert np.isnan(without[1])
    assert without[0] != whole
