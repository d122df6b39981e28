"""Writes texts/: sampled texts of every kind with their scenes. Run as `python docs/make_texts.py`."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from generator.dataset.streams import Stream
from generator.describe.benchmark import Request, make_askers
from generator.describe.items import Item, Language, Subject
from generator.describe.protocols.train import Train, parse_statistics
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
    language, spoken = _language(), Counter[str]()
    for scene, item in _items(language):
        name = " · ".join(filter(None, (item.protocol, item.kind, item.skill)))
        if spoken[name] < TEXTS:
            spoken[name] += len(item.candidates)
            kinds[name].append(_told(scene, item, language))
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(kinds):
        protocol, _, rest = name.partition(" · ")
        found[protocol] += [f"## {rest}\n", *kinds[name]]
    return {f"{name}.md": "\n".join([f"# Texts of the protocol {name}", HEAD, *parts]) for name, parts in found.items()}


def _language() -> Language:
    vocabulary = read_vocabulary(FAMILY)
    return Language(vocabulary, draw_block("3x3", vocabulary, 0))


def _items(language: Language) -> Iterator[tuple[Scene, Item]]:
    vocabulary, plan = language.vocabulary, SplitPlan(language.vocabulary, language.holdout)
    counts = {
        "train": SCENES // 9,
        "val": 0,
        "seen": SCENES * 5 // 9,
        "partial": SCENES * 2 // 9,
        "unseen": SCENES // 9,
    }
    askers = make_askers(language, Request(), OBJECTS[1])
    trained = [
        Train(language, None, False),
        Train(language, parse_statistics("density=0.5,completeness=0.7,saliency=1"), False),
    ]
    for n, planned in enumerate(plan_scenes(vocabulary, plan, counts, 0, OBJECTS)):
        scene = place_scene(planned, vocabulary, 0, 0, 320, 240)
        arrangement = tuple((thing.attributes[language.holdout.kind], thing.category) for thing in scene.objects)
        split = plan.place(arrangement).split
        assert split is not None
        held_out = tuple(language.holdout.holds_out(*binding) for binding in arrangement)
        subject = Subject(planned.scene_id, Facts(scene, vocabulary), split, held_out)
        subject.salience = tuple(-thing.position[1] for thing in scene.objects)
        for asker in [trained[n % 2]] if split == "train" else askers:
            for item in asker.ask(subject, Stream("page", asker.name, n)):
                yield scene, item


def _told(scene: Scene, item: Item, language: Language) -> str:
    objects = ", ".join(
        " ".join([*(thing.attributes[kind] for kind in language.grammar.order), thing.category])
        for thing in scene.objects
    )
    graph = scene_graph(scene, language.vocabulary)
    nearer = {i: sum(bool(graph.edges[i, j, "front"]["holds"]) for j in graph if j != i) for i in graph}
    depth = " ".join(str(i + 1) for i in sorted(nearer, key=lambda i: -nearer[i]))
    lines = [f"*{objects}; depth {depth}*", ""]
    for candidate in item.candidates:
        words = language.grammar.realise(candidate.text.form, candidate.text.template, dict(candidate.text.wording))
        kind = f" [{candidate.kind}]" if candidate.kind else ""
        slot = f" ({candidate.slot})" if candidate.slot not in ("c", "n") else ""
        lines.append(f"- {'✓' if candidate.truth else '✗'} {words}{slot}{kind}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    for name, text in pages().items():
        (OUT / name).write_text(text, encoding="utf-8")
