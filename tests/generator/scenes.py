"""Random scenes and forms for tests of language: any contents, any poses, margins not respected."""

import json
import random
from dataclasses import replace

from hypothesis import strategies as st

from generator.describe.captioner import Captioner
from generator.describe.scenes import DescribedScene
from generator.holdout.blocks import draw_block
from generator.judge.lexicon import Lexicon
from generator.judge.text_reader import read_text
from generator.language.form import Form, Link, Mention
from generator.language.truth import Facts
from generator.scene.scene import Camera, Scene, SceneObject
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.schema import Vocabulary, read_vocabulary

FAMILY = "clevr"
VOCABULARY = read_vocabulary(FAMILY)
VOCABULARY_TEXT = vocabulary_text(FAMILY)
RELATIONS = read_vocabulary("clevr-relations")
"""The family of all eight relations; its objects and attributes are those of VOCABULARY."""
RELATIONS_TEXT = vocabulary_text("clevr-relations")
HOLDOUT = draw_block("3x3", VOCABULARY, 0)
CAMERA = Camera((7.4811, -6.5076, 5.3437), (0.0, 0.0, 0.35), 35.0, 32.0)
CATEGORIES = list(VOCABULARY.objects)
_LEXICON = Lexicon.from_toml(VOCABULARY_TEXT)


def scene_of(
    *objects: tuple[str, dict[str, str]],
    positions: list[tuple[float, float]] | None = None,
    vocabulary: Vocabulary = VOCABULARY,
) -> Scene:
    """A scene of (category, attribute values); unsaid attributes are the first of their kind."""
    places = positions or [(0.9 * i - 2, 1.3 * ((i * 3) % 5) - 2) for i in range(len(objects))]
    usual = {kind: vocabulary.values(kind)[0] for kind in vocabulary.attributes}
    placed_objects = tuple(
        SceneObject(category, {**usual, **values}, (x, y, 0.0), 0.0)
        for (category, values), (x, y) in zip(objects, places, strict=True)
    )
    return Scene(placed_objects, CAMERA, {}, next(iter(vocabulary.environments)))


def random_scene(
    draw: random.Random,
    least: int = 1,
    most: int = 10,
    categories: list[str] | None = None,
    vocabulary: Vocabulary = VOCABULARY,
) -> Scene:
    """Objects of any kind anywhere, where the vocabulary has tops also on others, or nearly."""
    objects = [
        (
            draw.choice(categories or CATEGORIES),
            {kind: draw.choice(vocabulary.values(kind)) for kind in vocabulary.attributes},
        )
        for _ in range(draw.randint(least, most))
    ]
    places = [(round(draw.uniform(-3, 3), 6), round(draw.uniform(-3, 3), 6)) for _ in objects]
    scene = scene_of(*objects, positions=places, vocabulary=vocabulary)
    return replace(
        scene, objects=tuple(_lifted(draw, scene, i, vocabulary) for i in range(len(objects)))
    )


def _lifted(draw: random.Random, scene: Scene, i: int, vocabulary: Vocabulary) -> SceneObject:
    obj, under = scene.objects[i], scene.objects[i - 1]
    top = vocabulary.top(under.category, under.attributes)
    if top is None or i % 2 == 0 or draw.random() < 0.3:
        return obj
    x, y, _ = under.position
    aside, lift = draw.choice((0.0, 0.1, 0.5)), draw.choice((0.0, 0.0, 0.0005, 0.002, 0.3))
    return replace(obj, position=(round(x + aside, 6), y, round(top[0] + lift, 6)))


def facts_of(scene: Scene, vocabulary: Vocabulary = VOCABULARY) -> Facts:
    """A scene's facts."""
    return Facts(scene, vocabulary)


def described(
    scene: Scene, split: str = "seen", scene_id: str = "000000", vocabulary: Vocabulary = VOCABULARY
) -> DescribedScene:
    """A scene of a benchmark over the family with the held-out block."""
    held_out = tuple(
        HOLDOUT.holds_out(obj.attributes[HOLDOUT.kind], obj.category) for obj in scene.objects
    )
    return DescribedScene(scene_id, facts_of(scene, vocabulary), split, held_out)


def captioner(**options: object) -> Captioner:
    """A captioner of the family with the held-out block."""
    return Captioner(VOCABULARY, HOLDOUT, **options)  # type: ignore[arg-type]


def form_of(text: str, lexicon: Lexicon | None = None) -> Form:
    """What a text asserts, as the judge reads it."""
    data = json.loads(read_text(text, lexicon or _LEXICON).to_json())
    objects = (
        Mention(
            record["category"],
            tuple(record["attributes"].items()),
            tuple(record.get("without", {}).items()),
            count,
        )
        for record in data["objects"]
        for count in [record.get("count", 1)]
    )
    links = (Link(*ends, holds) for *ends, holds in data.get("relations", ()))
    return Form(tuple(objects), tuple(links), data.get("negated", False), data.get("environment"))


@st.composite
def mentions(draw: st.DrawFn, counts: bool = False, generic: bool = True) -> Mention:
    """A mention with any attributes, perhaps a denial, perhaps a count."""
    category = draw(st.sampled_from([*CATEGORIES[:4], *([None] if generic else [])]))
    values = draw(
        st.fixed_dictionaries(
            {},
            optional={k: st.sampled_from(VOCABULARY.values(k)[:3]) for k in VOCABULARY.attributes},
        )
    )
    count = draw(st.sampled_from([1, 1, 0, 2, 3])) if counts else 1
    attributes = tuple(sorted(values.items()))
    if category is None and count > 1:
        count = 1
    free = [kind for kind in VOCABULARY.attributes if kind not in values] + (
        [VOCABULARY.category] if category is None else []
    )
    without: tuple[tuple[str, str], ...] = ()
    if count == 1 and free and draw(st.integers(0, 3)) == 0:
        kind = draw(st.sampled_from(free))
        choices = CATEGORIES[:4] if kind == VOCABULARY.category else VOCABULARY.values(kind)[:3]
        without = ((kind, draw(st.sampled_from(choices))),)
    return Mention(category, attributes, without, count)


@st.composite
def forms(draw: st.DrawFn, most: int = 4, vocabulary: Vocabulary = VOCABULARY) -> Form:
    """Any form of the language."""
    related = draw(st.booleans())
    mentioned = draw(st.lists(mentions(counts=not related), min_size=1, max_size=most))
    links: list[Link] = []
    if related and len(mentioned) > 1:
        pairs = [(i, j) for i in range(len(mentioned)) for j in range(len(mentioned)) if i != j]
        chosen = draw(
            st.lists(
                st.tuples(st.sampled_from(pairs), st.sampled_from(list(vocabulary.relations))),
                max_size=4,
                unique=True,
            )
        )
        links = [Link(i, name, j, draw(st.booleans())) for (i, j), name in chosen]
        if draw(st.booleans()):
            mentioned = [*mentioned, draw(mentions())._replace(without=(), count=0)]
    form = Form(tuple(mentioned), tuple(links))
    if draw(st.integers(0, 4)) == 0 and all(mention.count for mention in form.objects):
        return form._replace(negated=True)
    if draw(st.integers(0, 4)) == 0:
        return form._replace(environment=next(iter(VOCABULARY.environments)))
    return form
