"""`score probe` finds where a model that was built so loses what is bound."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from evaluator.audits.probe.audit import UNDECIDED, ProbeRequest, find_loss, probe_models
from evaluator.audits.probe.pairs import (
    ATTRIBUTE,
    BINDING,
    OBJECT,
    SAME,
    ProbePairs,
    exchange_values,
    find_pairs,
)
from evaluator.models.registry import FAMILIES, Family
from evaluator.report.audit_figures import by_probe
from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.schema import parse_vocabulary
from tests.evaluator import conftest
from tests.evaluator.encoders import WordBag, captions_by_image, word_vector


def embed(caption: str, binds: bool) -> np.ndarray:
    """The sum of the vectors of its values and objects, and where a tower binds, of their products
    too."""
    total = 0
    for mention in caption.removesuffix(".").split(" and "):
        value, object_ = (word_vector(word)[:5] for word in mention.split()[-2:])
        total += np.concatenate([2 * value, 2 * object_, binds * np.outer(value, object_).ravel()])
    return (total / np.linalg.norm(total)).astype(np.float32)


class Built(WordBag):
    """An encoder whose towers bind or do not; an image is embedded as its caption."""

    def __init__(self, captions: dict[bytes, str], images: bool, texts: bool):
        super().__init__(captions, key=f"built {images} {texts}")
        self._images, self._texts = images, texts

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([embed(text, self._texts) for text in texts])

    def encode_images(self, images: Sequence[Image.Image]) -> np.ndarray:
        return np.stack([embed(self._captions[image.tobytes()], self._images) for image in images])


KINDS = {"bag": (False, False), "bound": (True, True), "blind": (False, True)}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scenes of all values and shapes of the family clevr, of which many pairs can be seen."""
    text = vocabulary_text("clevr")
    sides = {
        name: (8 + 2 * (i % 4), 8 + 6 * (i // 4))
        for i, name in enumerate(parse_vocabulary(text, "clevr").objects)
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conftest, "_SIDES", sides)
        patch.setattr(conftest, "small_vocabulary_text", lambda: text)
        scenes = {"train": 40, "val": 2, "seen": 200, "partial": 24, "unseen": 36}
        return conftest.build_dataset(tmp_path_factory.mktemp("probe") / "dataset", scenes)


def load(name: str, device: str | None) -> Built:
    """Loader of a family for the registry: KIND@FOLDER of a dataset."""
    kind, _, root = name.partition("@")
    return Built(captions_by_image(Path(root)), *KINDS[kind])


@pytest.fixture(scope="module")
def results(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    opened = Dataset.open(dataset)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(FAMILIES, "built", Family(f"{__name__}:load", "built:KIND@FOLDER"))
        models = tuple(f"{kind}=built:{kind}@{dataset}" for kind in KINDS)
        return probe_models(
            ProbeRequest(models),
            opened.world,
            opened.benchmark(),
            out=tmp_path_factory.mktemp("out"),
        )


@pytest.mark.full
def test_the_probe_finds_the_tower_that_loses_the_binding(
    results: dict[str, Any],
) -> None:
    lost = {"bag": "image encoder and text tower", "bound": "", "blind": "image encoder"}
    for model, measures in results["models"].items():
        for row in measures["rows"]:
            expected = lost[model] if row["factor"] == BINDING else ""
            # The small splits of this dataset cannot always decide, but name nothing wrong.
            undecided = {UNDECIDED} if row["split"] != "seen" else set()
            assert row["lost"] in {expected, *undecided}
    moved = {
        model: [
            row["value"]
            for row in measures["moves"]
            if row["factor"] == BINDING and row["value"] is not None
        ]
        for model, measures in results["models"].items()
    }
    assert max(map(abs, moved["bag"])) < 1e-3
    assert min(moved["bound"]) > 0.3


@pytest.mark.parametrize(
    ("image", "text", "alignment", "expected"),
    [
        (
            (0.3, 0.7),
            (0.3, 0.7),
            (0.603, 0.902),
            "",
        ),  # aligned, so nothing is lost, however wide the towers' intervals
        ((0.4, 0.6), (0.7, 0.9), (0.4, 0.6), "image encoder"),
        ((0.4, 0.6), (0.4, 0.6), (0.3, 0.9), "image encoder and text tower"),
        ((0.7, 0.9), (0.6, 0.8), (0.4, 0.6), "alignment"),
        ((0.3, 0.9), (0.6, 0.8), (0.4, 0.6), "undecided"),  # the image encoder may have it
        ((0.7, 0.9), (0.6, 0.8), (0.2, 0.95), "undecided"),
        ((None, None), (0.6, 0.8), (0.4, 0.6), "undecided"),
    ],
)
def test_a_loss_is_placed_only_where_the_binding_was_there_before(
    image: Any, text: Any, alignment: Any, expected: str
) -> None:
    shares = {"image": image, "text": text, "alignment": alignment}
    assert (
        find_loss(
            [{"place": place, "low": low, "high": high} for place, (low, high) in shares.items()]
        )
        == expected
    )


def test_neighbours_differ_in_one_factor(dataset: Path) -> None:
    opened = Dataset.open(dataset)
    pairs: ProbePairs = find_pairs(opened.world, opened.benchmark(), 0)
    content_of = {question.scene: frozenset(question.pair) for question in pairs.questions}
    pair_of = {question.caption: question.pair for question in pairs.questions}
    pair_of |= {question.foil: exchange_values(question.pair) for question in pairs.questions}
    for i, question in enumerate(pairs.questions):
        assert exchange_values(question.pair) != question.pair
        for part, factor in enumerate((ATTRIBUTE, OBJECT)):
            if text := pairs.texts[factor][i]:
                places = [k for k in (0, 1) if pair_of[text][k] != question.pair[k]]
                assert len(places) == 1
                old, new = question.pair[places[0]], pair_of[text][places[0]]
                assert old[1 - part] == new[1 - part]
                assert pairs.differing_names[factor][i] == (old[part], new[part])
                assert new[part] not in {binding[part] for binding in question.pair}
            if scene := pairs.scenes[factor][i]:
                assert len(content_of[scene] & set(question.pair)) == 1
        if scene := pairs.scenes[SAME][i]:
            assert scene != question.scene
            assert content_of[scene] == set(question.pair)
        if scene := pairs.scenes[BINDING][i]:
            assert content_of[scene] == set(exchange_values(question.pair))
    assert sum(map(bool, pairs.texts[ATTRIBUTE])) > 0.6 * len(pairs.questions)


@pytest.mark.full
def test_the_figure_names_factors_models_and_splits(results: dict[str, Any]) -> None:
    models = {"bag": results["models"]["bag"]}
    (figure,) = by_probe({**results, "models": models})
    svg = figure.svg()
    for text in ("attribute, bag", "object, bag", "binding, bag", "image", "alignment", "unseen"):
        assert f">{text}<" in svg


def test_models_that_cannot_be_probed_are_refused(
    dataset: Path, class_lists: Path, tmp_path: Path
) -> None:
    opened = Dataset.open(dataset)
    for request, message in (
        (
            ProbeRequest(("blind:length",)),
            "'blind:length' does not embed images and texts apart; give a dual encoder",
        ),
        (
            ProbeRequest(("blind:length",), fit="sen"),
            "no questions of a split 'sen'; did you mean 'seen'",
        ),
    ):
        with pytest.raises(UserError, match=message):
            probe_models(request, opened.world, opened.benchmark(), out=tmp_path / "out")
    other = Dataset.open(class_lists)
    with pytest.raises(UserError, match="no binary question on a scene of two objects"):
        probe_models(
            ProbeRequest(("m",)),
            other.world,
            other.benchmark(other.benchmark_names()[0]),
            out=tmp_path / "out",
        )
