"""Writes texts/: sampled texts of every kind with their scenes. Run as `python docs/make_texts.py`."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from generator.dataset.streams import Stream
from generator.describe.benchmark import make_protocols, make_training
from generator.describe.captioner import Captioner
from generator.describe.described_scene import DescribedScene
from generator.describe.items import Item
from generator.describe.request import Request
from generator.describe.training.statistics import parse_statistics
from generator.holdout.blocks import draw_block
from generator.holdout.membership import SplitPlan
from generator.language.truth import Facts
from generator.placement.scenes import place_scene
from generator.plan.plan import plan_scenes
from generator.scene.graph import scene_graph
from generator.scene.scene import Scene
from generator.vocabulary.schema import read_vocabulary

OUT = Path(__file__).with_name("texts")
TEXTS = 200
FAMILY, SCENES, OBJECTS = "clevr-many", 900, (3, 7)
HEAD = f"""
{TEXTS} texts of every kind, drawn from {SCENES} planned scenes of the family `{FAMILY}` ({OBJECTS[0]} to {OBJECTS[1]} objects), with the scenes that they are true or false of; made by `python docs/make_texts.py`, and so the same everywhere. [language](../language.md) says how each kind is made. A scene lists its objects from left to right; "depth" gives them, by their place in that list, from front to back.

✓ true, ✗ false; a false text's own kind stands in brackets.
"""


def pages() -> dict[str, str]:
    """A page for each protocol, by file name."""
    kinds: dict[str, list[str]] = defaultdict(list)
    captioner, written = _captioner(), Counter[str]()
    for scene, item in _items(captioner):
        name = " · ".join(filter(None, (item.protocol, item.kind, item.skill)))
        if written[name] < TEXTS:
            written[name] += len(item.candidates)
            kinds[name].append(_entry(scene, item, captioner))
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(kinds):
        protocol, _, rest = name.partition(" · ")
        found[protocol] += [f"## {rest}\n", *kinds[name]]
    return {f"{name}.md": "\n".join([f"# Texts of the protocol {name}", HEAD, *parts]) for name, parts in found.items()}


def _captioner() -> Captioner:
    vocabulary = read_vocabulary(FAMILY)
    return Captioner(vocabulary, draw_block("3x3", vocabulary, 0))


def _items(captioner: Captioner) -> Iterator[tuple[Scene, Item]]:
    vocabulary, holdout = captioner.vocabulary, captioner.holdout
    plan = SplitPlan(vocabulary, holdout)
    counts = {
        "train": SCENES // 9,
        "val": 0,
        "seen": SCENES * 5 // 9,
        "partial": SCENES * 2 // 9,
        "unseen": SCENES // 9,
    }
    protocols = make_protocols(captioner, Request(), OBJECTS[1])
    measured = Request(statistics=parse_statistics("density=0.5,completeness=0.7,saliency=1"))
    training = [make_training(captioner, request, OBJECTS[1]) for request in (Request(), measured)]
    for n, planned in enumerate(plan_scenes(vocabulary, plan, counts, 0, OBJECTS)):
        scene = place_scene(planned, vocabulary, 0, 0, 320, 240)
        arrangement = tuple((thing.attributes[holdout.kind], thing.category) for thing in scene.objects)
        split = plan.place(arrangement).split
        assert split is not None
        held_out = tuple(holdout.holds_out(*binding) for binding in arrangement)
        salience = tuple(-thing.position[1] for thing in scene.objects)
        described = DescribedScene(planned.scene_id, Facts(scene, vocabulary), split, held_out, salience)
        for protocol in [training[n % 2]] if split == "train" else protocols:
            for item in protocol.items(described, Stream("page", protocol.name, n)):
                yield scene, item


def _entry(scene: Scene, item: Item, captioner: Captioner) -> str:
    objects = ", ".join(
        " ".join([*(thing.attributes[kind] for kind in captioner.grammar.order), thing.category])
        for thing in scene.objects
    )
    graph = scene_graph(scene, captioner.vocabulary)
    nearer = {i: sum(bool(graph.edges[i, j, "front"]["holds"]) for j in graph if j != i) for i in graph}
    depth = " ".join(str(i + 1) for i in sorted(nearer, key=lambda i: -nearer[i]))
    lines = [f"*{objects}; depth {depth}*", ""]
    for candidate in item.candidates:
        words = captioner.grammar.realise(candidate.text.form, candidate.text.template, dict(candidate.text.wording))
        kind = f" [{candidate.kind}]" if candidate.kind else ""
        slot = f" ({candidate.slot})" if candidate.slot not in ("c", "n") else ""
        lines.append(f"- {'✓' if candidate.truth else '✗'} {words}{slot}{kind}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    for name, text in pages().items():
        (OUT / name).write_text(text, encoding="utf-8")
