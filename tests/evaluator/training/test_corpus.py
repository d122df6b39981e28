"""Corpora made elsewhere: JSON lines and images."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from evaluator.training.recipe import Recipe
from evaluator.training.source import corpus_source
from generator.base.errors import UserError

PLAIN = Recipe(negatives="")
LINES: list[dict[str, Any]] = [
    {
        "image": "b.jpg",
        "caption": "a red car",
        "negatives": {"replace": ["a blue car"], "swap": ["car red a"]},
    },
    {
        "image": "a/a.png",
        "caption": "a dog",
        "positives": {"replace": ["a hound"], "swap": ["dog a"]},
    },
    {"image": "b.jpg", "caption": "one car"},
]


def _write(folder: Path, lines: list[Any]) -> Path:
    (folder / "a").mkdir(exist_ok=True)
    for name in ("a/a.png", "b.jpg"):
        Image.fromarray(np.full((9, 7, 3), len(name), np.uint8)).save(folder / name)
    path = folder / "corpus.jsonl"
    path.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n"
    )
    return path


def _texts(source: Any, rows: np.ndarray) -> list[str]:
    return [source.data.texts[row] for row in rows.ravel() if row >= 0]


def test_a_corpus_is_read_with_its_kinds(tmp_path: Path) -> None:
    recipe = Recipe(negatives="replace", positives="replace", positive_loss="analogy")
    source = corpus_source(_write(tmp_path, LINES), recipe)
    assert source.data.scenes == ["a/a.png", "b.jpg"]
    assert _texts(source, source.data.captions) == ["a dog", "a red car", "one car"]
    assert _texts(source, source.data.negatives) == ["a blue car"]
    assert _texts(source, source.data.positives) == ["a hound"]
    assert set(_texts(source, source.data.true)) == {
        "a dog",
        "a hound",
        "dog a",
        "a red car",
        "one car",
    }
    assert not source.data.mirrored
    where, name = source.data.images[1]
    assert where.image(name).size == (7, 9)
    as_captions = corpus_source(
        tmp_path / "corpus.jsonl", Recipe(negatives="", positives="swap,replace")
    )
    assert _texts(as_captions, as_captions.data.captions) == [
        "a dog",
        "a hound",
        "dog a",
        "a red car",
        "one car",
    ]


def test_a_line_ends_where_json_lines_say(tmp_path: Path) -> None:
    """Not at the other ends of lines that Unicode has, and a byte-order mark is no text."""
    path = _write(tmp_path, [{"image": "b.jpg", "caption": "a car"}])
    path.write_text(
        "\ufeff" + path.read_text().replace("a car", "a\u2028car\x85"), encoding="utf-8"
    )
    assert corpus_source(path, PLAIN).data.texts == ["a\u2028car\x85"]


def test_a_negative_that_is_true_of_its_image_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A caption of another line, and a positive of a kind that is not learnt from; of another image
    both are false."""
    lines = [
        {
            "image": "b.jpg",
            "caption": "a car",
            "negatives": {"replace": ["one car", "a dog"], "swap": ["car a"]},
        },
        {"image": "b.jpg", "caption": "one car", "positives": {"converse": ["car a"]}},
        {"image": "a/a.png", "caption": "a dog", "negatives": {"replace": ["one car", "car a"]}},
    ]
    source = corpus_source(
        _write(tmp_path, lines), Recipe(negatives="replace,swap", negative_loss="svlc")
    )
    negatives = {
        (source.data.scenes[image], source.data.texts[row])
        for image, rows in enumerate(source.data.negatives)
        for row in rows.ravel()
        if row >= 0
    }
    assert negatives == {("b.jpg", "a dog"), ("a/a.png", "one car"), ("a/a.png", "car a")}
    assert (
        "Left out 2 negatives that are true of their image, such as 'one car' of b.jpg."
        in caplog.text
    )


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (
            Recipe(),
            r"corpus.jsonl has no negatives of the kind flip; it has replace,swap: give --negatives replace,swap\.",
        ),
        (
            Recipe(negatives="", positives="converse"),
            "no positives of the kind converse; it has replace,swap: give",
        ),
        (Recipe(negatives="", texts="plain"), "captions have no kinds; leave --texts out"),
    ],
)
def test_kinds_that_a_corpus_lacks_are_refused(
    tmp_path: Path, recipe: Recipe, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        corpus_source(_write(tmp_path, LINES), recipe)


def test_kinds_without_a_text_are_not_there(tmp_path: Path) -> None:
    path = _write(tmp_path, [{"image": "b.jpg", "caption": "a car", "negatives": {"swap": []}}])
    with pytest.raises(
        UserError, match="no negatives of the kind swap; it has none: give --negatives none"
    ):
        corpus_source(path, Recipe(negatives="swap"))


def test_a_corpus_is_known_by_its_lines_and_images(tmp_path: Path) -> None:
    path, recipe = _write(tmp_path, LINES), PLAIN
    first = corpus_source(path, recipe).record
    assert corpus_source(path, recipe).record == first
    Image.fromarray(np.zeros((9, 7, 3), np.uint8)).save(tmp_path / "b.jpg")
    second = corpus_source(path, recipe)
    assert second.record["world"] != first["world"]
    assert second.record["benchmark"] == first["benchmark"]
    exposure = second.exposure(second.data)
    assert exposure is not None
    assert len(exposure.scenes) == 2
    assert not exposure.complete
    assert not exposure.described
    assert exposure.objects == {(None, "red", "car"), (None, None, "car"), (None, None, "dog")}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"Line 2 of .* is not a line of a corpus \(it: Invalid JSON"),
        ({"image": "b.jpg"}, "caption: Field required"),
        ({"image": "b.jpg", "caption": ""}, "caption: String should have at least 1"),
        ({**LINES[0], "text": "x"}, "text: Extra inputs are not permitted"),
        (
            {**LINES[0], "positives": {"swap": [1]}},
            "positives.swap.0: Input should be a valid string",
        ),
        (
            {**LINES[0], "negatives": {"swop": ["x"]}},
            "negatives.swop.*Input should be 'swap', 'replace'",
        ),
        ({**LINES[0], "image": "../b.jpg"}, "which is not a path within that folder"),
        ({**LINES[0], "image": "c.jpg"}, "which does not exist"),
    ],
)
def test_lines_that_cannot_be_used_are_refused(tmp_path: Path, line: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        corpus_source(_write(tmp_path, [LINES[0], line]), PLAIN)


def test_empty_files_and_broken_images_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no lines"):
        corpus_source(_write(tmp_path, []), PLAIN)
    with pytest.raises(UserError, match="cannot be read"):
        corpus_source(tmp_path / "none.jsonl", PLAIN)
    source = corpus_source(_write(tmp_path, LINES), PLAIN)
    (tmp_path / "b.jpg").write_bytes(b"no image")
    where, name = source.data.images[1]
    with pytest.raises(
        UserError, match=r"The image b\.jpg of .* cannot be read as JPEG, PNG, WEBP"
    ):
        where.image(name)
