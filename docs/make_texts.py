"""Writes texts/: sampled texts of every kind with their scenes. Run as `python
docs/make_texts.py`."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from generator.base.streams import Stream
from generator.describe.benchmark import make_protocols, make_training
from generator.describe.captioner import Captioner, Item
from generator.describe.request import TextRequest, read_text_preset, text_preset_names
from generator.describe.scenes import DescribedScene
from generator.describe.statistics import parse_statistics
from generator.holdout.blocks import draw_block
from generator.holdout.membership import SplitPlan
from generator.language.truth import Facts
from generator.placement.scenes import place_scene
from generator.plan.plan import plan_scenes
from generator.scene.relations import scene_graph
from generator.scene.scene import Scene
from generator.vocabulary.schema import read_vocabulary

OUT = Path(__file__).with_name("texts")
TEXTS = 200
SCENES = 900
HEAD = """
{texts} texts of every kind, drawn from {scenes} planned scenes of the family `{family}` \
({least} to {most} objects), with the scenes that they are true or false of; made by `python docs/make_texts.py`, \
and so the same everywhere. [language](../language.md) says how each kind is made. A scene lists its objects from \
left to right; "depth" gives them, by their place in that list, from front to back.

✓ true, ✗ false; a false text's own kind stands in brackets.
"""
Worlds = tuple[str, tuple[int, int]]
"""A family, and the least and the greatest number of objects in a scene."""
MANY: Worlds = ("clevr-many", (3, 7))
OF_PRESETS: dict[str, Worlds] = {
    "bare": ("pug-frames", (2, 2)),
    "compass2026": ("clevr-relations", (3, 4)),
}
"""The worlds of presets that need relations which other families lack."""


def pages() -> dict[str, str]:
    """By file name: a page for each protocol, with the texts written by default, and a page for
    each preset."""
    page_of: dict[str, str] = {}
    for protocol, parts in _parts(TextRequest(), MANY).items():
        page_of[f"{protocol}.md"] = "\n".join(
            [f"# Texts of the protocol {protocol}", _head(MANY), *parts]
        )
    for preset in text_preset_names():
        stated, world = read_text_preset(preset), OF_PRESETS.get(preset, MANY)
        request = TextRequest(
            stated.protocols,
            stated.options,
            stated.levels,
            equal_familiarity=stated.equal_familiarity,
        )
        parts = [
            f"# {protocol}\n\n" + "\n".join(p)
            for protocol, p in _parts(request, world, training=False).items()
        ]
        page_of[f"{preset}.md"] = "\n".join(
            [f"# Texts of the preset {preset}", _head(world), *parts]
        )
    return page_of


def _head(world: Worlds) -> str:
    family, (least, most) = world
    return HEAD.format(texts=TEXTS, scenes=SCENES, family=family, least=least, most=most)


def _parts(request: TextRequest, world: Worlds, training: bool = True) -> dict[str, list[str]]:
    """The parts of the page of each protocol: headings and items."""
    family, objects = world
    vocabulary = read_vocabulary(family).painted_with("color")
    captioner = Captioner(vocabulary, draw_block("3x3", vocabulary, 0), request.equal_familiarity)
    kinds: dict[str, list[str]] = defaultdict(list)
    written = Counter[str]()
    for scene, item in _items(captioner, request, objects, training):
        name = " · ".join(filter(None, (item.protocol, item.kind, item.skill)))
        if written[name] < TEXTS:
            written[name] += len(item.candidates)
            kinds[name].append(_entry(scene, item, captioner))
    parts_of: dict[str, list[str]] = defaultdict(list)
    for name in sorted(kinds):
        protocol, _, rest = name.partition(" · ")
        parts_of[protocol] += [f"## {rest}\n", *kinds[name]]
    return parts_of


def _items(
    captioner: Captioner, request: TextRequest, objects: tuple[int, int], training: bool
) -> Iterator[tuple[Scene, Item]]:
    vocabulary, holdout = captioner.vocabulary, captioner.holdout
    plan = SplitPlan(vocabulary, holdout)
    counts = {
        "train": SCENES // 9,
        "val": 0,
        "seen": SCENES * 5 // 9,
        "partial": SCENES * 2 // 9,
        "unseen": SCENES // 9,
    }
    protocols = make_protocols(captioner, request, objects[1])
    measured = TextRequest(statistics=parse_statistics("density=0.5,completeness=0.7,saliency=1"))
    trained = (
        [make_training(captioner, texts, objects[1]) for texts in (TextRequest(), measured)]
        if training
        else []
    )
    scenes = [
        place_scene(planned, vocabulary, 0, 0, 320, 240)
        for planned in plan_scenes(vocabulary, plan, counts, 0, objects)
    ]
    for survey in (True, False):
        for n, scene in enumerate(scenes):
            described = _described(scene, str(n), plan)
            for protocol in trained[n % 2 :][:1] if described.split == "train" else protocols:
                stream = Stream("page", protocol.name, n)
                if not protocol.describes(described.split):
                    continue
                if survey:
                    protocol.survey(described, stream)
                    continue
                for item in protocol.items(described, stream):
                    yield scene, item
    for protocol in protocols:
        for described, item in protocol.pooled_items():
            yield scenes[int(described.scene_id)], item


def _described(scene: Scene, scene_id: str, plan: SplitPlan) -> DescribedScene:
    holdout = plan.holdout
    arrangement = tuple((obj.attributes[holdout.kind], obj.category) for obj in scene.objects)
    split = plan.place(arrangement).split
    assert split is not None
    held_out = tuple(holdout.holds_out(*binding) for binding in arrangement)
    salience = tuple(-obj.position[1] for obj in scene.objects)
    return DescribedScene(scene_id, Facts(scene, plan.vocabulary), split, held_out, salience)


def _entry(scene: Scene, item: Item, captioner: Captioner) -> str:
    objects = ", ".join(
        " ".join([*(obj.attributes[kind] for kind in captioner.grammar.order), obj.category])
        for obj in scene.objects
    )
    graph = scene_graph(scene, captioner.vocabulary)
    nearer = {
        i: sum(bool(graph.edges[i, j, "front"]["holds"]) for j in graph if j != i) for i in graph
    }
    depth = " ".join(str(i + 1) for i in sorted(nearer, key=lambda i: -nearer[i]))
    lines = [f"*{objects}; depth {depth}*", ""]
    for candidate in item.candidates:
        words = captioner.grammar.realise(*candidate.text)
        kind = f" [{candidate.kind}]" if candidate.kind else ""
        slot = f" ({candidate.slot})" if candidate.slot not in ("c", "n") else ""
        lines.append(f"- {'✓' if candidate.truth else '✗'} {words}{slot}{kind}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    for name, text in pages().items():
        (OUT / name).write_text(text, encoding="utf-8")
