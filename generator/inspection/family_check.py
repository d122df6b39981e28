"""Implements `gen vocab check`: finds mistakes in a family's declarations, words, colours, textures
and outlines."""

import json
import logging
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from pydantic import ValidationError

from generator.base.errors import UserError
from generator.base.files import parse_toml
from generator.inspection.close_colors import too_close
from generator.inspection.declared_colors import DeclaredColors
from generator.inspection.legibility import LEGIBLE, SIDES, illegible, stage_of
from generator.inspection.object_masks import object_masks
from generator.inspection.outlines import alike
from generator.inspection.swatches import rendered, single_scene
from generator.inspection.texture_contrast import LEAST_CONTRAST, contrasts
from generator.judge.lexicon import Lexicon, UnreadableError
from generator.judge.text_reader import read_text
from generator.language.form import Form, Link, Mention
from generator.language.grammar import Grammar
from generator.language.templates import declared_template
from generator.render.farm import default_workers
from generator.vocabulary.english import plural_of
from generator.vocabulary.families import shipped_families, vocabulary_text
from generator.vocabulary.schema import Vocabulary, mistakes_of, read_vocabulary

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Finding:
    """A finding about a family."""

    level: str
    """"error" if the family cannot be used, "note" about the image size that it needs, else
    "warning"."""
    check: str
    """The check that made it, such as colors or textures."""
    message: str
    """A sentence that names the mistake and how to fix it."""
    names: tuple[str, ...] = ()
    """The values or objects that it is about."""
    measure: float | None = None
    """A CIEDE2000 colour difference, the overlap (0..1) of two masks, the contrast of a texture, or
    a minimum size in pixels; None if nothing was measured."""


def check_family(family: str) -> list[Finding]:
    """Check the family of that name or at that path.

    Returns all mistakes of its declarations; if there are none, the findings about words, colours,
    textures, places, legibility and outlines. Textures and photographed places are rendered, if
    Blender is installed. Raises UserError if there is no such family, or if its file is not TOML.
    """
    text = vocabulary_text(family)
    try:
        vocabulary = Vocabulary.model_validate(parse_toml(text))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"'{family}' is not valid TOML: {error}.") from None
    except ValidationError as error:
        return [Finding("error", "declarations", message) for message in mistakes_of(error)]
    findings: list[Finding] = []
    for kind in vocabulary.paints or (vocabulary.tested,):
        painted = vocabulary.painted_with(kind)
        findings += [
            *_words(painted, painted.toml() if vocabulary.paints else text),
            *_colors(painted),
            *_textures(painted),
            *_places(painted),
            *_legibility(painted),
        ]
    # A family with several paints has most findings once for each paint.
    return list(dict.fromkeys([*findings, *_outlines(vocabulary)]))


def _words(vocabulary: Vocabulary, text: str) -> Iterator[Finding]:
    yield from (Finding("error", "words", message) for message in unreadable(vocabulary, text))
    yield from (Finding("warning", "words", message) for message in misspelt(vocabulary))


def _colors(vocabulary: Vocabulary) -> Iterator[Finding]:
    for close in too_close(vocabulary):
        phrase = vocabulary.environments[close.environment].phrase
        message = (
            f"the values '{close.one}' and '{close.other}' of {close.kind} look much the same "
            f"{phrase}, in equal light or one of them in shade: CIEDE2000 {close.distance:.1f}."
        )
        yield Finding(
            "warning", "colors", message, (close.one, close.other), round(close.distance, 2)
        )


_SWATCH = 64  # pixels, at draft quality


def _places(vocabulary: Vocabulary) -> Iterator[Finding]:
    """Values whose colour in the light of a photographed place is nearer to another value's colour.

    Renders each value on a sphere (or on the first object, if there is no sphere) in the middle of
    each sector.
    """
    colors = DeclaredColors(vocabulary)
    photos = {name: place.photo for name, place in vocabulary.environments.items() if place.photo}
    if not photos or colors.kind is None:
        return
    if find_spec("bpy") is None:
        logger.warning(
            "Blender is not installed, so colours in the light of the photographs were not checked."
        )
        return
    usual = {kind: vocabulary.values(kind)[0] for kind in vocabulary.attributes}
    model = "sphere" if "sphere" in vocabulary.objects else next(iter(vocabulary.objects))
    swatches = []
    for name, photo in photos.items():
        for i, sector in enumerate(photo.sectors):
            for value in vocabulary.values(colors.kind):
                attributes = {**usual, colors.kind: value}
                scene = single_scene(
                    vocabulary, model, attributes=attributes, environment=name, sector=i
                )
                swatches.append((name, sector, value, scene))

    scenes = [scene for *_, scene in swatches]
    images = rendered(scenes, vocabulary, default_workers(), _SWATCH, "draft")
    for (name, sector, value, scene), image in zip(swatches, images, strict=True):
        inside = object_masks(scene, vocabulary, image.size)[0].visible
        nearest = colors.nearest(value, np.asarray(image)[inside] / 255)
        if nearest.value == value:
            continue
        message = (
            f"the value '{value}' of {colors.kind} looks like '{nearest.value}' "
            f"{vocabulary.environments[name].phrase} in the sector {list(sector)}: CIEDE2000 "
            f"{nearest.distance_of_recorded:.1f} against {nearest.distance:.1f}; take another "
            f"sector or exposure."
        )
        margin = round(nearest.distance_of_recorded - nearest.distance, 2)
        yield Finding("warning", "places", message, (value, nearest.value), margin)


def _textures(vocabulary: Vocabulary) -> Iterator[Finding]:
    has_texture = any(
        value.texture for values in vocabulary.attributes.values() for value in values.values()
    )
    if not has_texture:
        return
    if find_spec("bpy") is None:
        logger.warning("Blender is not installed, so the contrast of textures was not checked.")
        return
    # Textures that a shipped family has on the same stage were checked when it was made.
    shipped = [read_vocabulary(name) for name in shipped_families() if name != vocabulary.name]
    known = [family for family in shipped if stage_of(family) == stage_of(vocabulary)]
    for kind, category, value, contrast in contrasts(vocabulary, default_workers(), known):
        if contrast >= LEAST_CONTRAST:
            continue
        message = (
            f"the texture '{value}' of {kind} can hardly be seen on '{category}' in an image of "
            f"128 pixels: contrast {contrast:.1f}, expected {LEAST_CONTRAST} or more; take "
            f"another scale, or colors further apart."
        )
        yield Finding("warning", "textures", message, (value, category), round(contrast, 2))


def _legibility(vocabulary: Vocabulary) -> Iterator[Finding]:
    """Names that a small network recognised in too few images of a shipped family, from which this
    family has them."""
    for row in illegible(vocabulary):
        largest_illegible = max(side for side in SIDES if row.percent_at(side) < LEGIBLE)
        advice = "no size that was measured is enough"
        if row.legible_from is not None:
            advice = f"take {row.legible_from} or more"
        message = (
            f"'{row.name}' of {row.kind} is named on {int(row.percent_at(largest_illegible))}% "
            f"of images of {largest_illegible} pixels in the family '{row.family}', expected "
            f"{LEGIBLE:.0f}%; {advice}."
        )
        yield Finding("note", "legibility", message, (row.name,), row.legible_from)


def _outlines(vocabulary: Vocabulary) -> Iterator[Finding]:
    for one, other, share in alike(vocabulary):
        message = (
            f"'{one}' and '{other}' look alike: their masks overlap by {share:.0%} from the "
            f"family's camera."
        )
        yield Finding("warning", "outlines", message, (one, other), round(share, 3))


_PLURALS = """
bison bison, calf calves, child children, deer deer, elf elves, fish fish, foot feet, goose geese,
half halves, knife knives, leaf leaves, life lives, loaf loaves, man men, moose moose, mouse mice,
ox oxen, scarf scarves, sheep sheep, shelf shelves, thief thieves, tooth teeth, wife wives, wolf
wolves, woman women
"""
_IRREGULAR = dict(pair.split() for pair in _PLURALS.split(","))
# Beginnings of words that need this article although their first letter suggests the other.
_SOUNDS_OTHERWISE = {
    "a": ("eu", "ewe", "one", "uni", "us", "ufo", "ute", "uke"),
    "an": ("heir", "honest", "honor", "honour", "hour"),
}
_EXCEPTIONS = ("unin", "unim", "unid", "unit ", "ush")  # such as "an uninteresting …"


def misspelt(vocabulary: Vocabulary) -> Iterator[str]:
    """A sentence for each plural or article that captions would form wrongly."""
    for name, spec in vocabulary.objects.items():
        *before, last = name.split(" ")
        plural = " ".join([*before, _IRREGULAR.get(last, plural_of(last))])
        if spec.plural is None and plural != plural_of(name):
            yield f"two of '{name}' would be called '{plural_of(name)}'; add plural = \"{plural}\"."
        article = _article(name)
        if spec.article is None and article:
            yield f"'{name}' would get the wrong article; add article = \"{article}\"."
    for kind, values in vocabulary.attributes.items():
        if kind in vocabulary.phrases:  # as in "made of wood", which follows the noun
            continue
        for name, value in values.items():
            article = _article(name)
            if value.article is None and article:
                yield f"'{name}' would get the wrong article; add article = \"{article}\"."


def _article(word: str) -> str | None:
    """The article that a word needs by its sound, if its first letter suggests another; else
    None."""
    if word.startswith(_EXCEPTIONS):
        return None
    for article, beginnings in _SOUNDS_OTHERWISE.items():
        if word.startswith(beginnings):
            return article
    return None


def unreadable(vocabulary: Vocabulary, text: str) -> Iterator[str]:
    """A sentence for each caption that the judge cannot read back with the lexicon of the family's
    TOML `text`.

    Tries two captions for each object (singular and plural), and one for each value, relation,
    environment and declared template.
    """
    grammar = Grammar(vocabulary)
    lexicon = Lexicon.from_toml(text)
    for name, reason in lexicon.refused.items():
        yield f"the judge refuses templates.{name}: {reason}; choose other words."
    for form, template in _forms(vocabulary):
        caption = grammar.realise(form, template)
        try:
            meaning = json.loads(read_text(caption, lexicon).to_json())
        except UnreadableError:
            meaning = None
        if meaning != form.to_dict():
            yield f"the caption '{caption}' cannot be read back as it is meant; choose other words."


def _forms(vocabulary: Vocabulary) -> Iterator[tuple[Form, str]]:
    """Forms that together use every word of a vocabulary, each with a template that can say it."""
    objects = list(vocabulary.objects)
    first = Mention(objects[0])
    for name in objects:
        yield Form((Mention(name),)), "there-is"
        # Its plural.
        yield Form((Mention(name, count=2),)), "there-is"
    for kind, values in vocabulary.attributes.items():
        for value in values:
            with_value = first.with_value(kind, value)
            yield Form((with_value,)), "there-is"
    for relation in vocabulary.pair_relations:
        second = Mention(objects[1])
        yield Form((first, second), (Link(0, relation, 1),)), "that-is"
    for environment in vocabulary.environments:
        yield Form((first,), environment=environment), "there-is"
    yield from _forms_of_templates(vocabulary)


def _forms_of_templates(vocabulary: Vocabulary) -> Iterator[tuple[Form, str]]:
    """A form for each declared template, with as many objects as it needs."""
    categories = list(vocabulary.objects)
    for name, text in vocabulary.templates.items():
        template = declared_template(text)
        for n_objects in range(1, 4):
            # Categories repeat in a family of fewer.
            mentions = [Mention(categories[n % len(categories)]) for n in range(n_objects)]
            form = Form(tuple(mentions))
            forms = [form]
            if n_objects == 2:
                for relation in vocabulary.pair_relations:
                    forms.append(form._replace(relations=(Link(0, relation, 1),)))
            for candidate in forms:
                if template.fits(candidate):
                    yield candidate, name
