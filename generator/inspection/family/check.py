"""All findings about a family at once: mistakes of its declarations, words, colours and outlines."""

import logging
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec

from pydantic import ValidationError

from generator.base.errors import UserError
from generator.base.files import parse_toml
from generator.inspection.family.colors import too_close
from generator.inspection.family.silhouettes import alike
from generator.inspection.family.textures import LEAST_CONTRAST, faint
from generator.inspection.family.words import misspelt, unreadable
from generator.render.farm.pool import default_workers
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.schema import Vocabulary, mistakes_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Finding:
    """A finding about a family.

    `level` is "error" where the family cannot be used, else "warning". `names` are the values or objects it is about.
    `measure` is a CIEDE2000 colour difference, the share (0..1) that two masks have in common, or the contrast of a texture.
    """

    level: str
    check: str
    message: str
    names: tuple[str, ...] = ()
    measure: float | None = None


def check_family(family: str) -> list[Finding]:
    """The findings about the family of that name or at that path.

    These are all mistakes of its declarations or, where there are none, what the checks of words, colours, outlines and
    textures find; textures are rendered, if Blender is installed. Raises UserError where there is no such family, or where its file is not TOML.
    """
    text = vocabulary_text(family)
    try:
        vocabulary = Vocabulary.model_validate(parse_toml(text))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"'{family}' is not valid TOML: {error}.") from None
    except ValidationError as error:
        return [Finding("error", "declarations", message) for message in mistakes_of(error)]
    found = []
    for kind in vocabulary.paints or (vocabulary.tested,):
        painted = vocabulary.painted_with(kind)
        found += [
            *_words(painted, painted.toml() if vocabulary.paints else text),
            *_colors(painted),
            *_textures(painted),
        ]
    return list(dict.fromkeys([*found, *_outlines(vocabulary)]))


def _words(vocabulary: Vocabulary, text: str) -> Iterator[Finding]:
    yield from (Finding("error", "words", message) for message in unreadable(vocabulary, text))
    yield from (Finding("warning", "words", message) for message in misspelt(vocabulary))


def _colors(vocabulary: Vocabulary) -> Iterator[Finding]:
    for close in too_close(vocabulary):
        phrase = vocabulary.environments[close.environment].phrase
        message = f"the values '{close.one}' and '{close.other}' of {close.kind} look much the same {phrase}: CIEDE2000 {close.distance:.1f}."
        yield Finding("warning", "colors", message, (close.one, close.other), round(close.distance, 2))


def _textures(vocabulary: Vocabulary) -> Iterator[Finding]:
    textured = any(value.texture for values in vocabulary.attributes.values() for value in values.values())
    if textured and find_spec("bpy") is None:
        logger.warning("Blender is not installed, so nobody has looked whether textures can be seen.")
        return
    for kind, value, category, contrast in faint(vocabulary, default_workers()):
        message = (
            f"the texture '{value}' of {kind} can hardly be seen on '{category}' in an image of 128 pixels: contrast {contrast:.1f}, "
            f"expected {LEAST_CONTRAST} or more; take another scale, or colors further apart."
        )
        yield Finding("warning", "textures", message, (value, category), round(contrast, 2))


def _outlines(vocabulary: Vocabulary) -> Iterator[Finding]:
    for one, other, share in alike(vocabulary):
        message = f"'{one}' and '{other}' look alike: their masks have {share:.0%} in common from the usual camera."
        yield Finding("warning", "outlines", message, (one, other), round(share, 3))
