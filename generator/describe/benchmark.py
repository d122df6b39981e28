"""Texts and items of a benchmark: what is asked of a model about each scene."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from generator.dataset.commands import progress
from generator.dataset.errors import UserError, did_you_mean
from generator.dataset.reader import Dataset, World
from generator.dataset.streams import Stream
from generator.dataset.writer import BenchmarkWriter
from generator.describe.items import Grid, Item, Language, Subject, Text
from generator.describe.name_counts import Spread
from generator.describe.protocols.binary import KINDS, Binary
from generator.describe.protocols.class_gzsl import ClassGzsl, Labels
from generator.describe.protocols.confusion import Confusion
from generator.describe.protocols.context import Context
from generator.describe.protocols.gzsl import Gzsl
from generator.describe.protocols.hard_positives import HardPositives
from generator.describe.protocols.integration import Integration
from generator.describe.protocols.pairs import Pairs
from generator.describe.protocols.productivity import Productivity
from generator.describe.protocols.retrieval import Retrieval
from generator.describe.protocols.skill import Skill
from generator.describe.protocols.systematicity import Systematicity
from generator.describe.protocols.train import Statistics, Train
from generator.holdout.class_lists import ClassRule
from generator.holdout.holdout import Holdout
from generator.holdout.membership import Fact, Rule, cluster_of, held_out_facts
from generator.holdout.request import design_of
from generator.language.complexity import LEVELS, cells
from generator.language.grammar import TEMPLATES
from generator.language.truth import Facts
from generator.plan.plan import Assigned
from generator.scene.scene import Scene
from generator.vocabulary.schema import Vocabulary, parse_vocabulary

PLAIN, RELATED = "a-and-a", "that-is"
PROTOCOLS = (
    "binary", "retrieval", "systematicity", "productivity", "integration", "skill", "hard_positives", "confusion", "context",
    "gzsl", "pairs",
)  # fmt: skip
"""Protocols that `describe` can write items of, besides the training captions."""
_NEEDS = {
    "retrieval": "its pool is the world's two-object grid, so it needs scenes of exactly two objects (--objects 2)",
    "productivity": "captions of 4 to 12 atoms with five foils of a kind need scenes of three or more objects that differ in category",
    "integration": "a caption's categories and values must occur once in the scene and leave others unused: more categories, or fewer objects",
    "pairs": "it needs scenes with a twin (gen render --pairs), both in one split of this block",
    "skill": "four foils need a scene whose objects differ in category and leave categories unused",
}


@dataclass(frozen=True)
class Request:
    """What texts a benchmark shall have. `protocols` None is all that the world can give; `strict` refuses to go without
    items of a protocol that is named."""

    protocols: tuple[str, ...] | None = None
    binary: tuple[str, ...] = KINDS
    levels: tuple[str, ...] = tuple(LEVELS)
    complexity: tuple[int, int] = (1, 12)
    counts: Mapping[str, int] = field(default_factory=dict)
    statistics: Statistics | None = None
    template: str | None = None
    exposed_negatives: bool = False
    equal_familiarity: bool = True
    seed: int = 0
    strict: bool = True


FIRST = Request(("binary", "retrieval", "pairs"), ("swap",), template=PLAIN, strict=False)
"""The texts of a benchmark of bindings that is made with its world, or with a new block."""


@dataclass(frozen=True)
class Described:
    """What a benchmark came to hold: scenes by split, items by protocol and kind, texts, and what was dropped or refused."""

    scenes: dict[str, int]
    items: dict[str, int]
    texts: int
    dropped: dict[str, int]
    refused: dict[str, int]


class Asker(Protocol):
    """What writes the items of one protocol."""

    name: str

    def ask(self, subject: Subject, stream: Stream) -> Iterator[Item]:
        """The items of a scene."""
        ...


def describe(
    root: Path,
    world: World,
    holdout: Holdout,
    name: str,
    request: Request,
    assigned: Mapping[str, Assigned] | None = None,
    with_world: bool = False,
) -> Described:
    """Write the benchmark `name` for a holdout over the world in `root`.

    Scenes belong to the splits that the holdout's rule says; with `assigned`, by scene_id, to those that they were made
    for, and scenes that were made for nothing here to none. `with_world` notes that the benchmark is made with its world.

    No text is written that has not been decided on its scene. Raises UserError when a split would be empty, or when a
    protocol that was asked for gets no item.
    """
    vocabulary = parse_vocabulary(world.vocabulary_text, "vocabulary.toml")
    design = design_of(holdout)
    language = Language(vocabulary, holdout, _equal_familiarity(request, holdout), request.template)
    askers = make_askers(language, request, _most_objects(world))
    train: Train | Labels = Train(language, request.statistics, request.exposed_negatives)
    if design.label_captions and request.statistics is None:
        train = Labels(ClassGzsl(language, ClassRule(vocabulary, holdout)))
    rule = design.rule(vocabulary, holdout)
    with BenchmarkWriter(root, name) as writer:
        tables = _Tables(writer, language, rule.splits)
        for row in _rendered(world, request.statistics is not None):
            tables.add_scene(row, rule, train, askers, request.seed, assigned)
        if empty := [split for split, n in tables.scenes.items() if n == 0 and split not in design.may_lack(holdout)]:
            raise UserError(
                f"This block leaves no rendered scene for {', '.join(empty)}: try another --block-seed or a larger block, or "
                f"render more scenes."
            )
        _check_given(tables, askers, request)
        for asker in askers:
            if isinstance(asker, Retrieval) and tables.items[f"{asker.name} grid"]:
                for text in asker.pool():
                    writer.add("pools", ("grid", tables.text(text)))
        described = Described(
            dict(tables.scenes), dict(sorted(tables.items.items())), len(tables.known),
            dict(sorted(language.dropped.items())), dict(sorted(language.refused.items())),
        )  # fmt: skip
        writer.finish(
            holdout.to_dict(),
            {
                **_manifest(world, holdout, described, request, askers, train),
                "balance": tables.spread.to_dict(),
                "with_world": with_world,
            },
        )
    return described


def first_request(holdout: Holdout, exposed_negatives: bool = False) -> Request:
    """The texts of a benchmark that is made with its world, or with a new holdout."""
    design = design_of(holdout)
    texts = design.first_texts(holdout)
    return Request(
        texts.protocols, texts.binary, template=texts.template, strict=False,
        exposed_negatives=exposed_negatives and not design.label_captions,  # labels come without negatives
    )  # fmt: skip


def kept_splits(dataset: Dataset, holdout: Holdout) -> dict[str, Assigned]:
    """The split of every scene in the first benchmark of this holdout: other texts leave the splits as they are."""
    data = holdout.to_dict()
    benchmark = next(b for b in map(dataset.benchmark, dataset.benchmark_names()) if b.holdout == data)
    rows = zip(benchmark.splits["scene_id"].to_pylist(), benchmark.splits["split"].to_pylist(), strict=True)
    return {scene_id: Assigned(split, ()) for scene_id, split in rows if split is not None}


def check_request(request: Request) -> None:
    """Raises UserError for protocols or templates that do not exist."""
    for protocol in request.protocols or ():
        if protocol not in PROTOCOLS:
            raise UserError(f"Unknown protocol '{protocol}'; {did_you_mean(protocol, list(PROTOCOLS))}")
    if request.template is not None and request.template not in TEMPLATES:
        raise UserError(f"Unknown template '{request.template}'; {did_you_mean(request.template, list(TEMPLATES))}")


def check_name(name: str) -> str:
    """The name, when it can name a folder. Raises UserError."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise UserError(f"Expected the benchmark's name to be letters, digits, '.', '_' and '-', got '{name}'.")
    return name


def make_askers(language: Language, request: Request, most: int) -> list[Asker]:
    """What writes the items of each protocol that is asked for; `most` is the largest number of objects in a scene."""
    check_request(request)
    names = PROTOCOLS if request.protocols is None else request.protocols
    graded = {"productivity", "integration", "skill"} & set(names)
    found = cells(request.levels, request.complexity, request.counts, language.vocabulary, most) if graded else []
    makers: dict[str, Any] = {
        "binary": lambda: Binary(language, request.binary),
        "retrieval": lambda: Retrieval(language),
        "systematicity": lambda: Systematicity(language),
        "productivity": lambda: Productivity(language, found),
        "integration": lambda: Integration(language, found),
        "skill": lambda: Skill(language, found),
        "hard_positives": lambda: HardPositives(language),
        "confusion": lambda: Confusion(language),
        "context": lambda: Context(language),
        "gzsl": lambda: (
            ClassGzsl(language, ClassRule(language.vocabulary, language.holdout))
            if language.holdout.classes
            else Gzsl(language)
        ),
        # a first benchmark has no relations but those of its pairs
        "pairs": lambda: Pairs(language, None if request.strict else RELATED),
    }
    return [makers[name]() for name in PROTOCOLS if name in names]


def _check_given(tables: "_Tables", askers: Sequence[Asker], request: Request) -> None:
    given = {name.split()[0] for name in tables.items}
    for asker in askers:
        if asker.name not in given and request.protocols is not None and request.strict:
            why = _NEEDS.get(
                asker.name,
                "two objects of a scene must differ in category and in the tested kind, and the foils be as familiar as the truth",
            )
            said = f", or the template '{request.template}' cannot say it" if request.template else ""
            raise UserError(f"No scene gives an item of '{asker.name}': {why}{said}.")


class _Rendered(NamedTuple):
    scene_id: str
    twin_of: str | None
    scene: Scene
    salience: tuple[float, ...]


def _rendered(world: World, with_views: bool) -> Iterator[_Rendered]:
    """Every rendered scene with the salience of its objects, in the order of the table."""
    columns = ["scene_id", "twin_of", "scene", "status", "width", "height", *(["objects"] if with_views else [])]
    with progress() as bar:
        task = bar.add_task("describing", total=None, note="")
        for batch in world.batches("scenes", columns):
            for row in batch.to_pylist():
                if row["status"] == "ok":
                    salience = _salience(row) if with_views else ()
                    yield _Rendered(row["scene_id"], row["twin_of"], Scene.from_json(row["scene"]), salience)
            bar.update(task, advance=batch.num_rows)


def _shown(facts: Facts, vocabulary: Vocabulary) -> list[Fact]:
    """The relations that hold between objects of a scene."""
    things = range(len(facts))
    return [(i, name, j) for name in vocabulary.relations for i in things for j in things if facts.holds[name][i][j]]


def _salience(row: Mapping[str, Any]) -> tuple[float, ...]:
    """How much each object strikes the eye: the share of the image that it shows, and how near the middle it lies."""
    width, height = row["width"], row["height"]
    found = []
    for thing in row["objects"]:
        left, top, right, bottom = thing["amodal_box"]
        area = max(0, right - left) * max(0, bottom - top) * thing["visible_fraction_estimate"] / (width * height)
        x, y = (left + right) / width - 1, (top + bottom) / height - 1
        found.append(area**0.5 - ((x * x + y * y) / 2) ** 0.5)
    return tuple(found)


def _most_objects(world: World) -> int:
    return max(
        (
            len(row["objects"])
            for batch in world.batches("scenes", ["objects", "status"], 500)
            for row in batch.to_pylist()
            if row["status"] == "ok"
        ),
        default=0,
    )


class _Tables:
    """The rows of a benchmark while it is described; a text that is used twice is one row."""

    def __init__(self, writer: BenchmarkWriter, language: Language, splits: Sequence[str]):
        self._writer, self._language = writer, language
        self._kind = language.holdout.kind
        self.known: set[int] = set()
        self.scenes: Counter[str] = Counter(dict.fromkeys(splits, 0))
        self.items: Counter[str] = Counter()
        self._last: Subject | None = None
        self.spread = Spread(self._kind, language.holdout.category)

    def add_scene(
        self, row: _Rendered, rule: Rule, train: Train | Labels, askers: Sequence[Asker], seed: int,
        assigned: Mapping[str, Assigned] | None,
    ) -> None:  # fmt: skip
        """Add a scene to its split, and its items. A twin comes right after its scene."""
        holdout, (scene_id, twin_of, scene, salience) = self._language.holdout, row
        arrangement = tuple((thing.attributes[self._kind], thing.category) for thing in scene.objects)
        vocabulary = self._language.vocabulary
        facts = Facts(scene, vocabulary)
        shown = _shown(facts, vocabulary)
        placing = rule.place(arrangement, shown, scene_id)
        made_for = (assigned or {}).get(scene_id)
        split = placing.split if assigned is None else made_for.split if made_for else None
        bindings, triples = ([" ".join(each) for each in group] for group in (placing.held_out, placing.triples))
        self._writer.add("splits", (scene_id, split, bindings, triples))
        if split is None:
            return
        self.scenes[split] += 1
        self.spread.add(split, scene.objects)
        held_out = tuple(holdout.holds_out(*binding) for binding in arrangement)
        related = frozenset(held_out_facts(arrangement, shown, holdout)) if placing.triples else None
        named = made_for.named if made_for else ()
        twin = self._last if self._last and twin_of == self._last.scene_id else None
        subject = self._last = Subject(scene_id, facts, split, held_out, salience, twin, related, named)
        cluster = cluster_of(arrangement, placing.triples)
        for asker in [train] if split == "train" else askers:
            asked = asker.ask(subject, Stream("texts", seed, asker.name, scene_id))
            for n, item in enumerate(self._fitting(asked, subject)):
                self._add_item(f"{asker.name}-{scene_id}-{n}", subject, cluster, item)

    def _fitting(self, items: Iterator[Item], subject: Subject) -> Iterator[Item]:
        """The items whose captions name relations as familiar as their split says; the others are counted as dropped."""
        for item in items:
            captions = [candidate.text.form for candidate in item.candidates if candidate.slot in ("c", "p")]
            if all(self._language.fits(form, subject) for form in captions):
                yield item
            else:
                self._language.dropped[f"{item.protocol} {item.kind}: familiar relation"] += 1

    def _add_item(self, item_id: str, subject: Subject, cluster: str, item: Item) -> None:
        self.items[f"{item.protocol} {item.kind}"] += 1
        named: dict[bool, set[int]] = {True: set(), False: set()}
        ids = {id(candidate.text): self.text(candidate.text) for candidate in item.candidates}
        for candidate in item.candidates:
            form = candidate.text.form
            shown = subject.twin if candidate.of_twin and subject.twin else subject
            if shown.decide(form) is not candidate.truth:
                raise AssertionError(f"{item_id}: {form} should be {candidate.truth} of scene {shown.scene_id}")
            if candidate.slot in ("c", "n", "p", "0", "1"):
                named[candidate.truth].add(self._language.familiarity(form))
            of = ids[id(candidate.of)] if candidate.of is not None else None
            self._writer.add(
                "candidates",
                (item_id, shown.scene_id, ids[id(candidate.text)], candidate.slot, candidate.truth, candidate.kind,
                 list(candidate.changed), of),
            )  # fmt: skip
        positive, negative = (next(iter(named[truth])) if len(named[truth]) == 1 else None for truth in (True, False))
        self._writer.add(
            "items",
            (item_id, item.protocol, item.kind, item.skill, subject.split, cluster, item.pool, positive, negative),
        )

    def text(self, text: Text) -> str:
        """The text_id of a text, its row written on first use."""
        words = self._language.grammar.realise(text.form, text.template, dict(text.wording))
        digest = hashlib.sha256(words.encode()).digest()[:8]
        text_id, number = digest.hex(), int.from_bytes(digest)
        if number not in self.known:
            self.known.add(number)
            form = text.form
            self._writer.add(
                "texts",
                (
                    text_id,
                    words,
                    form.to_json(),
                    text.template,
                    form.level,
                    form.n_objects,
                    form.n_attributes,
                    form.n_relations,
                ),
            )
        return text_id


def _manifest(
    world: World,
    holdout: Holdout,
    described: Described,
    request: Request,
    askers: Sequence[Asker],
    train: Train | Labels,
) -> dict[str, Any]:
    declared = ["train negatives show held-out bindings (--exposed-negatives)"] if request.exposed_negatives else []
    if not request.equal_familiarity:
        declared.append("foils may be more or less familiar than their captions (--any-familiarity)")
    design = design_of(holdout)
    declared += design.declared_leaks(holdout)
    return {
        "world": world.digest, "design": design.name, "held_out": design.summary(holdout), "holdout": json.loads(json.dumps(holdout.to_dict())),
        "scenes": described.scenes, "exposed_negatives": request.exposed_negatives,
        "equal_familiarity": _equal_familiarity(request, holdout), "declared_leaks": declared,
        "texts": {
            "seed": request.seed, "template": request.template, "items": described.items, "dropped": described.dropped,
            "refused": described.refused, "cells": _filled(askers), "train": train.realised.to_dict() if request.statistics and isinstance(train, Train) else None,
        },
    }  # fmt: skip


def _equal_familiarity(request: Request, holdout: Holdout) -> bool:
    """Whether every foil must be as familiar as its caption."""
    return request.equal_familiarity and design_of(holdout).equal_familiarity(holdout)


def _filled(askers: Sequence[Asker]) -> dict[str, dict[str, int]]:
    """How often each cell of complexity was filled, by protocol (and skill and level)."""
    found: dict[str, dict[str, int]] = {}
    for asker in askers:
        grids: dict[str, Grid] = {}
        if isinstance(asker, Skill):
            grids = {f"skill {skill} {level}": grid for (skill, level), grid in asker.grids.items()}
        elif isinstance(asker, Integration):
            grids = {f"integration {level}": grid for level, grid in asker.grids.items()}
        elif isinstance(asker, Productivity | Systematicity):
            grids = {asker.name: asker.grid}
        for name, grid in grids.items():
            found[name] = {
                f"{c.level} O={c.n_objects} A={c.n_attributes} R={c.n_relations}": n
                for c, n in zip(grid.cells, grid.filled, strict=True)
                if n
            }
    return found
