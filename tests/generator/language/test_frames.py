"""Frames of reference: whose left a relation means, in the world, in captions and for the judge."""

import json
import math
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w

from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe_world
from generator.describe.request import TextRequest
from generator.holdout.holdout import closed
from generator.inspection.reproduction import Reproduction
from generator.judge.geometry import Terms, read_scene
from generator.judge.lexicon import Lexicon, UnreadableError
from generator.judge.text_reader import read_text
from generator.judge.truth import decide as judge
from generator.judge.verify import verify_dataset
from generator.language.form import Form, Link, Mention
from generator.language.grammar import Grammar
from generator.language.truth import Facts, decide
from generator.placement.scenes import place_scenes
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from generator.scene.scene import Camera, Scene, SceneObject
from generator.scene.turning import turned
from generator.vocabulary.schema import parse_vocabulary, read_vocabulary
from tests.generator.turned_worlds import COUNTS, write_turned_world

FRAMES = read_vocabulary("pug-frames").painted_with("color")
GRAMMAR = Grammar(FRAMES)
LEXICON = Lexicon.from_toml(FRAMES.text)
RED, BLUE = (("color", "red"),), (("color", "blue"),)
OWN = {
    "own-left": (1.0, 0.0),
    "own-right": (-1.0, 0.0),
    "own-front": (0.0, 1.0),
    "own-behind": (0.0, -1.0),
}


def world(
    *places: tuple[str, float, float, float], camera: tuple[float, float] = (0, -12)
) -> Scene:
    """A scene of animals at (category, x, y, heading in degrees)."""
    objects = tuple(
        SceneObject(
            name, {"color": "red", "coat": "matt"}, (float(x), float(y), 0.0), math.radians(heading)
        )
        for name, x, y, heading in places
    )
    eye = Camera((*camera, 2.4), (0.0, 0.0, 1.0), 52.0, 36.0)
    return Scene(objects, eye, {}, "desert", 0.0, 0.0)


def both_truths(form: Form, scene: Scene) -> bool | None:
    """What the generator and the judge say of a form, by its words; they have to agree."""
    truth = decide(form, Facts(scene, FRAMES))
    for template in GRAMMAR.templates(form):
        meaning = read_text(GRAMMAR.realise(form, template), LEXICON)
        read = judge(meaning, read_scene(scene.to_json(), Terms.from_toml(FRAMES.text)))
        assert read is truth, GRAMMAR.realise(form, template)
    return truth


def relate(relation: str, *also: int, first: int = 0, second: int = 1) -> Form:
    mentions = (Mention("fox"), Mention("lion"), Mention("elephant"))[: 2 + len(also)]
    return Form(mentions, (Link(first, relation, second, True, also),))


@pytest.mark.parametrize("relation", OWN)
@pytest.mark.parametrize("heading", [0, 90, 200])
@pytest.mark.parametrize("eye", [(0, -12), (12, 0), (-8, 9)])
def test_the_object_s_own_directions_follow_its_front_and_no_camera(
    relation: str, heading: float, eye: tuple[float, float]
) -> None:
    aside, ahead = OWN[relation]
    angle = math.radians(heading)
    front, left = (
        np.array([math.cos(angle), math.sin(angle)]),
        np.array([-math.sin(angle), math.cos(angle)]),
    )
    x, y = 1.5 * (aside * left + ahead * front) + 0.5 * (front * abs(aside) + left * abs(ahead))
    scene = world(("fox", x, y, 17), ("lion", 0, 0, heading), camera=eye)
    assert both_truths(relate(relation), scene) is True
    opposite = FRAMES.relations[relation].opposite
    assert both_truths(relate(opposite), scene) is False


def test_a_lion_that_faces_the_camera_has_its_left_where_the_camera_sees_right() -> None:
    scene = world(("fox", 1.5, 0.1, 0), ("lion", 0, 0, -90))
    assert both_truths(relate("right"), scene) is True
    assert both_truths(relate("own-left"), scene) is True
    assert both_truths(relate("own-right"), scene) is False
    # Nearly beside it: in front of it or behind it is undecided.
    assert both_truths(relate("own-front"), scene) is None
    # What is said of the fox's own left is another question.
    assert both_truths(relate("own-left", first=1, second=0), scene) is None


def test_a_front_is_counted_from_the_mesh_s_own_axis() -> None:
    data = FRAMES.model_dump(mode="json", exclude_defaults=True)
    data["objects"]["lion"] |= {"front": 90}
    sideways = parse_vocabulary(tomli_w.dumps(data), "mine")
    # Its mesh's +x points away from the camera, and its face is a quarter turn further to the left.
    scene = world(("fox", 0.1, -1.5, 0), ("lion", 0, 0, 90))
    facts = Facts(scene, sideways)
    judged = read_scene(scene.to_json(), Terms.from_toml(sideways.text))
    for relation, expected in [("own-left", True), ("own-right", False), ("own-front", None)]:
        form = relate(relation)
        assert decide(form, facts) is expected
        meaning = read_text(
            Grammar(sideways).realise(form, "that-is"), Lexicon.from_toml(sideways.text)
        )
        assert judge(meaning, judged) is expected


def test_directions_of_a_third_are_those_of_a_camera_at_its_place() -> None:
    scene = world(("fox", 1.5, 1.0, 0), ("lion", 0, 0, 0), ("elephant", 0, 3, 45))
    # The elephant stands behind the lion and looks back at it, so its left is the camera's right.
    assert both_truths(relate("seen-left", 2), scene) is True
    assert both_truths(relate("seen-right", 2), scene) is False
    assert both_truths(relate("seen-front", 2), scene) is True
    assert both_truths(relate("seen-behind", 2), scene) is False
    assert both_truths(relate("right"), scene) is True
    assert both_truths(relate("behind"), scene) is True


def test_over_half_a_turn_viewer_relations_exchange_and_own_ones_stay() -> None:
    prepared = prepare(
        WorldOptions(
            family="pug-frames",
            holdout="2x2",
            scenes={"train": 20, "val": 2, "seen": 12, "partial": 8, "unseen": 8},
            viewpoints=4,
            turns=180,
        )
    )
    vocabulary = prepared.vocabulary
    for planned in [scene for scene in prepared.planned if scene.turn and not scene.twin_of]:
        scene, twin = place_scenes(planned, vocabulary, 0, 0, 320, 240)
        here, there = Facts(scene, vocabulary).holds, Facts(twin, vocabulary).holds
        quarter = Facts(turned(scene, 90, vocabulary), vocabulary).holds
        for name, relation in vocabulary.pair_relations.items():
            for i, j in permutations(range(len(scene.objects)), 2):
                if relation.frame == "object":
                    assert here[name][i][j] == there[name][i][j] == quarter[name][i][j]
                else:
                    assert here[name][i][j] == there[relation.opposite][i][j]


@pytest.mark.parametrize("relation", FRAMES.relations)
def test_every_phrase_is_read_as_it_is_meant(relation: str) -> None:
    third = (2,) if FRAMES.relations[relation].axis.arity == 3 else ()
    different = (Mention("fox", RED), Mention("lion", BLUE), Mention("elephant"))
    alike = (Mention("lion", RED), Mention("lion", BLUE), Mention("lion", (("color", "gray"),)))
    n_texts = 0
    for phrase in FRAMES.relations[relation].phrases:
        for mentions in (different, alike):
            for holds in (True, False):
                links = (Link(0, relation, 1, holds, third),)
                form = Form(mentions[: 2 + len(third)], links)
                for template in GRAMMAR.templates(form):
                    text = GRAMMAR.realise(form, template, (((0, "relation"), phrase),))
                    assert read_text(text, LEXICON).to_json() == form.to_json(), text
                    n_texts += 1
    assert len(FRAMES.relations[relation].phrases) >= 2
    assert n_texts >= 8


@pytest.mark.parametrize(
    "text",
    [
        "a fox to the left of a lion",
        "A fox is to the left of a lion and behind it as the camera sees it.",
        "A fox is to the left of a lion from the fox's own point of view.",
        "A fox is to the left of a lion from the elephant's own point of view.",
        "A fox is to the left of a lion as the camera sees it as the camera sees it.",
        "A fox is to the left of a lion as seen from the fox.",
        "A fox is to the left of a lion as seen from the lion's own point of view.",
        "A fox as the camera sees it.",
        "a fox that is to the left of a lion that is not red from the lion's own point of view",
    ],
)
def test_texts_that_do_not_say_one_frame_cannot_be_read(text: str) -> None:
    with pytest.raises(UnreadableError):
        read_text(text, LEXICON)


def test_no_caption_puts_a_frame_after_a_denial() -> None:
    form = Form((Mention("fox"), Mention("lion", (), RED)), (Link(0, "own-left", 1),))
    texts = [GRAMMAR.realise(form, template) for template in GRAMMAR.templates(form)]
    assert texts
    assert not any("not red from" in text for text in texts)


def test_own_relations_are_closed_under_every_subject_without_converse() -> None:
    triples = closed([("fox", "own-left", "lion")], FRAMES, True)
    directions = ("own-left", "own-right")
    assert set(triples) == {
        (animal, direction, "lion") for animal in FRAMES.objects for direction in directions
    }


OWN_LEFT = "from {the_b}'s own point of view"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"objects": {"fox": {}, "lion": {"front": 0}}}, "'fox' has no front"),
        ({"own-left": "to the left of"}, "does not say whose direction it means"),
        ({"own-left": "to the left of {b} from its own point of view"}, "does not say whose"),
        ({"own-left": "to {the_b}'s own left {b}"}, "name {b} first"),
        ({"left": "to the left of"}, "does not say that it means the camera's direction"),
        ({"left": "to the left of {b} as {the_b} sees it"}, "no other placeholder"),
    ],
)
def test_a_family_whose_frames_are_unclear_is_refused(
    changes: dict[str, Any], expected: str
) -> None:
    data = FRAMES.model_dump(mode="json", exclude_defaults=True)
    data["objects"] = changes.pop("objects", data["objects"])
    for relation, phrase in changes.items():
        data["relations"][relation] |= {"phrase": phrase, "synonyms": []}
    with pytest.raises(UserError, match=expected):
        parse_vocabulary(tomli_w.dumps(data), "mine")


def test_things_without_a_front_cannot_have_own_directions(tmp_path: Path) -> None:
    family = tmp_path / "mine.toml"
    relation = f'{{ phrase = "to the WORD of {{b}} {OWN_LEFT}", margin = 0.2 }}'
    lines = ['extends = "things"', 'remove = ["relations"]', "[relations]"]
    for word in ("left", "right"):
        camera = f"to the {word} of {{b}} as the camera sees it"
        lines.append(f'{word} = {{ phrase = "{camera}", margin = 0.2 }}')
        lines.append(f"own-{word} = {relation.replace('WORD', word)}")
    family.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(UserError, match="'bottle' has no front"):
        read_vocabulary(str(family))


@pytest.mark.full
def test_a_world_with_frames_is_described_judged_and_made_again(tmp_path: Path) -> None:
    prepared = write_turned_world(tmp_path, scenes={**COUNTS, "train": 60})
    describe_world(
        tmp_path,
        Dataset.open(tmp_path).world,
        holdout=prepared.holdout,
        name="b",
        request=TextRequest(strict=False),
    )
    benchmark = Dataset.open(tmp_path).benchmark("b")
    forms = [json.loads(form) for form in benchmark.texts["form"].to_pylist() if form]
    named = {link[1] for form in forms for link in form.get("relations", ())}
    assert named == FRAMES.pair_relations.keys()
    certificate = verify_dataset(tmp_path, "b", reproduce=Reproduction())["b"]
    assert certificate["status"] == "clean", certificate["sentence"]
    assert certificate["reproduced"]
