"""A corpus made elsewhere: a file of JSON lines with captions, negatives and positives of images beside it.

    {"image": "images/0001.jpg", "caption": "a red car", "negatives": {"replace": ["a blue car"]}, "positives": {"swap": []}}

An image may have several lines. `negatives` and `positives` may be left out; their keys are the kinds of training texts. A negative
that is a caption or a positive of its image, in any line, is left out.
"""

import hashlib
import io
import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from evaluator.provenance.exposure import Exposure
from evaluator.training.data import NEGATIVES, POSITIVES, Described, Images, TrainingData, check_kinds, collect
from evaluator.training.recipe import CAPTION, Recipe, listed
from evaluator.training.source import Source
from generator.base.errors import UserError, did_you_mean
from generator.base.limits import MOST_IN_SCENE, MOST_LIST, MOST_SIDE, read_bytes, read_text
from generator.base.paths import file_in

_FORMATS = ("PNG", "JPEG", "WEBP")
_DIGITS = 16


class Folder:
    """The images of a corpus, by their paths in its folder."""

    def __init__(self, root: Path):
        self._root = root

    def image(self, name: str) -> Image.Image:
        """An RGB image. Raises UserError where it is missing, no image, or larger than 4,096 pixels."""
        try:
            with Image.open(io.BytesIO(self.read(name)), formats=_FORMATS) as image:
                if max(image.size) > MOST_SIDE:
                    raise UserError(
                        f"{self._root / name} has {image.width}x{image.height} pixels, expected at most {MOST_SIDE} across and "
                        "down; make it smaller."
                    )
                return image.convert("RGB")
        except (OSError, SyntaxError, ValueError) as error:
            raise UserError(f"{self._root / name} is no image that can be read ({error}); replace it.") from None

    def read(self, name: str) -> bytes:
        """The bytes of an image file."""
        path = file_in(self._root, name)
        if not path.exists():
            raise UserError(f"The corpus names {path}, which does not exist; add it, or remove its lines.")
        return read_bytes(path, MOST_IN_SCENE)


def corpus_source(path: Path, recipe: Recipe) -> Source:
    """Read the corpus whose JSON lines are in `path`. Its images count as shown; what they show is not known.

    Raises UserError for a line that is not as described above, with its number, for kinds of negatives and positives that no line
    has, and for kinds of captions, which a corpus has none of.
    """
    if recipe.texts:
        raise UserError(f"{path} is a corpus, whose captions have no kinds; leave --texts out.")
    folder = Folder(path.parent)
    kinds = listed(recipe.negatives), listed(recipe.positives)
    check_kinds(*kinds)
    described: dict[str, Described] = defaultdict(Described)
    text = _text(path)
    lines = [
        _record(line, f"Line {number} of {path}") for number, line in enumerate(text.splitlines(), 1) if line.strip()
    ]
    if not lines:
        raise UserError(f"{path} has no lines; write one JSON object for each caption, with `image` and `caption`.")
    for name, asked in zip(("negatives", "positives"), kinds, strict=True):
        _check_there(path, name, asked, {kind for line in lines for kind, texts in line[name].items() if texts})
    for line in lines:
        _add(described, line, kinds, recipe.positive_loss == CAPTION)
    data = collect(*_named(folder, described), mirrored=False)
    images = {name: hashlib.sha256(folder.read(name)).hexdigest() for _, name in data.images}
    record = {
        "name": path.name, "benchmark": hashlib.sha256(text.encode()).hexdigest(), "certificate": "not verified",
        "world": hashlib.sha256(json.dumps(images, sort_keys=True).encode()).hexdigest(),
    }  # fmt: skip
    return Source(data, record, lambda used: _exposure(images, used))


def _named(
    folder: Folder, described: Mapping[str, Described]
) -> tuple[dict[tuple[Images, str], Described], dict[str, str]]:
    """What is described by place and name, and the words of the texts, which are their own names."""
    words = {
        text: text
        for each in described.values()
        for text in (
            *each.true,
            *each.captions,
            *(said for pair in each.captions.values() for of in pair for said in of),
        )
    }
    return {(folder, name): described[name] for name in sorted(described)}, words


def _check_there(path: Path, name: str, asked: Sequence[str], there: Collection[str]) -> None:
    if lacking := [kind for kind in asked if kind not in there]:
        has = ",".join(sorted(there)) or "none"
        raise UserError(f"{path} has no {name} of the kind {lacking[0]}; it has {has}: give --{name} {has}.")


def _add(
    described: dict[str, Described], line: dict[str, Any], kinds: tuple[Collection[str], Collection[str]], as_captions: bool
) -> None:  # fmt: skip
    image, caption = described[line["image"]], line["caption"]
    negatives = [text for kind, texts in line["negatives"].items() if kind in kinds[0] for text in texts]
    positives = [text for kind, texts in line["positives"].items() if kind in kinds[1] for text in texts]
    image.true |= dict.fromkeys([caption, *(text for texts in line["positives"].values() for text in texts)])
    image.captions.setdefault(caption, ([], []))[0].extend(negatives)
    if not as_captions:
        image.captions[caption][1].extend(positives)
    for text in positives if as_captions else ():
        image.captions.setdefault(text, ([], []))


def _record(line: str, where: str) -> dict[str, Any]:
    mend = (
        'expected {"image": ..., "caption": ..., "negatives": {kind: [...]}, "positives": {kind: [...]}}; correct it.'
    )
    try:
        found = json.loads(line)
    except ValueError as error:
        raise UserError(f"{where} is no JSON ({error}); {mend}") from None
    if not (
        isinstance(found, dict) and all(isinstance(found.get(key), str) and found[key] for key in ("image", "caption"))
    ):
        raise UserError(f"{where} lacks `image` or `caption`; {mend}")
    if unknown := sorted(found.keys() - {"image", "caption", "negatives", "positives"}):
        raise UserError(f"{where} has the unknown key '{unknown[0]}'; {mend}")
    for name, known in (("negatives", NEGATIVES), ("positives", POSITIVES)):
        by_kind = found.setdefault(name, {})
        if not isinstance(by_kind, dict) or not all(
            isinstance(texts, list) and all(isinstance(text, str) for text in texts) for texts in by_kind.values()
        ):
            raise UserError(f"{where} has {name} that are no lists of texts by kind; {mend}")
        if other := [kind for kind in by_kind if kind not in known]:
            raise UserError(f"{where} has {name} of the kind '{other[0]}'; {did_you_mean(other[0], list(known))}")
    return found


def _text(path: Path) -> str:
    try:
        return read_text(path, MOST_LIST)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read ({error}); give a file of JSON lines.") from None


def _exposure(images: Mapping[str, str], used: TrainingData) -> Exposure:
    return Exposure(scenes=frozenset(images[name][:_DIGITS] for name in used.scenes), complete=False)
