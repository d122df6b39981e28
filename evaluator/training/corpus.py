"""A corpus made elsewhere: a file of JSON lines with captions, negatives and positives of images beside it.

    {"image": "images/0001.jpg", "caption": "a red car", "negatives": {"replace": ["a blue car"]}, "positives": {"swap":
    []}}

An image may have several lines. `negatives` and `positives` may be left out; their keys are the kinds of training
texts. A negative that is a caption or a positive of its image, in any line, is left out.
"""

import hashlib
from collections import defaultdict
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from evaluator.benchmarks.pictures import Picture, Pictures
from evaluator.provenance.captions import DEFAULT
from evaluator.provenance.exposure import Exposure
from evaluator.training.data import Described, TrainingData, collect
from evaluator.training.recipe import Negative, Positive, Recipe
from evaluator.training.source import Source, check_hard_kinds
from generator.base.declarations import Declared
from generator.base.errors import UserError
from generator.base.extras import check_installed
from generator.base.limits import MOST_LIST, read_text
from generator.base.paths import file_in

_DIGITS = 16
_Text = Annotated[str, Field(min_length=1)]


class _Line(Declared):
    image: _Text
    caption: _Text
    negatives: dict[Negative, list[str]] = Field(default_factory=dict)
    positives: dict[Positive, list[str]] = Field(default_factory=dict)


def corpus_source(path: Path, recipe: Recipe) -> Source:
    """Read the corpus whose JSON lines are in `path`. Its images count as shown, and what the noun phrases of its
    captions name; what else the images show is not known.

    Raises UserError for a line that is not as described above, with its number, for kinds of negatives and positives
    that no line has, and for kinds of captions, which a corpus has none of.
    """
    check_installed("textblob")  # whose lexicon reads the captions after the training
    if recipe.texts:
        raise UserError(f"{path} is a corpus, whose captions have no kinds; leave --texts out.")
    negatives, positives = recipe.hard_kinds()
    text = _text(path)
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    lines = [_read(line, f"Line {number} of {path}") for number, line in numbered]
    if not lines:
        raise UserError(f"{path} has no lines; write one JSON object for each caption, with `image` and `caption`.")
    for name, asked in (("negatives", negatives), ("positives", positives)):
        there = {kind for line in lines for kind, texts in getattr(line, name).items() if texts}
        check_hard_kinds(str(path), name, asked, there)
    described: dict[str, Described] = defaultdict(Described)
    words: dict[str, None] = {}
    for line in lines:
        image = described[line.image]
        false, true = (
            [text for kind, texts in of.items() if kind in asked for text in texts]
            for of, asked in ((line.negatives, negatives), (line.positives, positives))
        )
        image.true |= dict.fromkeys([line.caption, *(text for texts in line.positives.values() for text in texts)])
        words |= dict.fromkeys([*image.true, *false])
        image.captions.setdefault(line.caption, ([], []))[0].extend(false)
        if recipe.positive_loss == "caption":
            for text in true:
                image.captions.setdefault(text, ([], []))
        else:
            image.captions[line.caption][1].extend(true)
    files = {name: file_in(path.parent, name) for name in sorted(described)}
    for file in files.values():
        if not file.is_file():
            raise UserError(f"The corpus names {file}, which does not exist; add it, or remove its lines.")
    pictures = Pictures(path.parent, {name: Picture(file) for name, file in files.items()})
    data = collect(
        [(pictures, name, described[name]) for name in files], {text: text for text in words}, mirrored=False
    )
    record = {
        "name": path.name,
        "benchmark": hashlib.sha256(text.encode()).hexdigest(),
        "certificate": "not verified",
        "world": pictures.digest,
    }

    def exposure(used: TrainingData) -> Exposure:
        shown = frozenset(pictures.image_digest(name)[:_DIGITS] for name in used.scenes)
        named = {
            (None, attribute, noun)
            for row in used.used()
            for phrase in DEFAULT.phrases(used.texts[row])
            for attribute, noun in [*DEFAULT.of_phrase(phrase), (None, DEFAULT.noun(phrase.split()[-1]))]
        }
        return Exposure(frozenset(named), scenes=shown, described=False, complete=False)

    return Source(data, record, exposure)


def _read(line: str, where: str) -> _Line:
    try:
        return _Line.model_validate_json(line)
    except ValidationError as error:
        mistake = error.errors()[0]
        place = ".".join(str(part) for part in mistake["loc"]) or "it"
        raise UserError(
            f"{where} is no line of a corpus ({place}: {mistake['msg']}); expected "
            '{"image": ..., "caption": ..., "negatives": {kind: [...]}, "positives": {kind: [...]}}; correct it.'
        ) from None


def _text(path: Path) -> str:
    try:
        return read_text(path, MOST_LIST, "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read ({error}); give a file of JSON lines.") from None
