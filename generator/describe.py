"""Texts and items of a benchmark: what is asked of a model about each scene."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generator.dataset.errors import UserError
from generator.dataset.reader import World
from generator.dataset.writer import write_benchmark
from generator.holdout import Holdout
from generator.language.foils import swap_attribute
from generator.language.form import Form, Mention
from generator.language.grammar import TEMPLATE, realise
from generator.language.truth import holds
from generator.scene import Scene
from generator.splits import SPLITS, Arrangement, Placing, SplitPlan, arrangements, cluster_of
from generator.vocabulary import Vocabulary, parse_vocabulary

POOL = "grid"
Row = dict[str, Any]


@dataclass
class _Tables:
    """The rows of a benchmark while it is described; a text that is used twice is one row."""

    splits: list[Row] = field(default_factory=list)
    texts: dict[str, Row] = field(default_factory=dict)
    items: list[Row] = field(default_factory=list)
    candidates: list[Row] = field(default_factory=list)
    pools: list[Row] = field(default_factory=list)
    words: dict[Form, str] = field(default_factory=dict)

    def text(self, form: Form, vocabulary: Vocabulary) -> str:
        """The text_id of a form, its text noted on first use."""
        if form not in self.words:
            text = realise(form, vocabulary)
            text_id = hashlib.sha256(text.encode()).hexdigest()[:16]
            self.texts[text_id] = {
                "text_id": text_id, "text": text, "form": form.to_json(), "template": TEMPLATE, "level": "OA",
                "n_objects": len(form.objects), "n_attributes": sum(len(m.attributes) for m in form.objects), "n_relations": 0,
            }  # fmt: skip
            self.words[form] = text_id
        return self.words[form]


def describe(root: Path, world: World, holdout: Holdout, name: str, exposed_negatives: bool) -> dict[str, int]:
    """Write the benchmark `name` for a held-out block over the world in `root`; returns the number of scenes by split.

    Raises UserError when a split would be empty.
    """
    vocabulary = parse_vocabulary(world.vocabulary_text, "vocabulary.toml")
    plan = SplitPlan(vocabulary, holdout)
    tables, counts = _Tables(), dict.fromkeys(SPLITS, 0)
    for scene_id, text in _rendered(world):
        scene = Scene.from_json(text)
        placing = plan.place(_arrangement(scene, holdout.kind))
        if placing.split is not None:
            counts[placing.split] += 1
        _add_scene(tables, scene_id, scene, placing, holdout.kind, vocabulary, exposed_negatives)
    if empty := [split for split, n in counts.items() if n == 0]:
        raise UserError(
            f"This block leaves no rendered scene for {', '.join(empty)}: try another --block-seed or a larger block, or "
            f"render more scenes."
        )
    _add_pool(tables, vocabulary, holdout.kind)
    rows = {
        name: list(rows.values()) if isinstance(rows, dict) else rows
        for name, rows in vars(tables).items()
        if name != "words"
    }
    write_benchmark(root, name, rows, holdout.to_dict(), _manifest(world, holdout, counts, exposed_negatives))
    return counts


def benchmark_name(holdout: Holdout) -> str:
    """The default name of a benchmark: what is held out, and the seed of the block."""
    return f"{holdout.kind}-{holdout.category}-{len(holdout.values)}x{len(holdout.objects)}-b{holdout.block_seed}"


def check_name(name: str) -> str:
    """The name, when it can name a folder. Raises UserError."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise UserError(f"Expected the benchmark's name to be letters, digits, '.', '_' and '-', got '{name}'.")
    return name


def _rendered(world: World) -> Iterable[tuple[str, str]]:
    columns = (world.scenes[column].to_pylist() for column in ("scene_id", "scene", "status"))
    return ((scene_id, scene) for scene_id, scene, status in zip(*columns, strict=True) if status == "ok")


def _arrangement(scene: Scene, kind: str) -> Arrangement:
    first, second = scene.objects
    return ((first.attributes[kind], first.category), (second.attributes[kind], second.category))


def _form(arrangement: Arrangement, kind: str) -> Form:
    return Form(tuple(Mention(thing, ((kind, value),)) for value, thing in arrangement))


def _add_scene(
    tables: _Tables,
    scene_id: str,
    scene: Scene,
    placing: Placing,
    kind: str,
    vocabulary: Vocabulary,
    exposed_negatives: bool,
) -> None:
    arrangement = _arrangement(scene, kind)
    tables.splits.append(
        {"scene_id": scene_id, "split": placing.split, "held_out_triples": [],
         "held_out_bindings": [" ".join(binding) for binding in placing.held_out]}
    )  # fmt: skip
    if placing.split is None:
        return
    pairs = [_caption_and_swap(tables, scene, order, kind, vocabulary) for order in (arrangement, arrangement[::-1])]
    common = {
        "skill": "attribute", "split": placing.split, "cluster_id": cluster_of(arrangement),
        "held_out_positive": len(placing.held_out), "held_out_negative": placing.held_out_swapped,
    }  # fmt: skip
    if placing.split == "train":
        shown = placing.held_out_swapped == 0 or exposed_negatives
        rows = [row for caption, swap in pairs for row in ([caption, swap] if shown else [caption])]
        negatives = common if shown else {**common, "held_out_negative": None}
        _add_item(tables, f"train-{scene_id}", scene_id, rows, {"protocol": "train", "kind": "caption", **negatives})
        return
    for order, (caption, swap) in enumerate(pairs):
        _add_item(
            tables,
            f"binary-{scene_id}-{order}",
            scene_id,
            [caption, swap],
            {"protocol": "binary", "kind": "swap", **common},
        )
    captions = [caption for caption, _ in pairs]
    _add_item(
        tables,
        f"retrieval-{scene_id}",
        scene_id,
        captions,
        {"protocol": "retrieval", "kind": "grid", **common, "pool_id": POOL, "held_out_negative": None},
    )


def _caption_and_swap(
    tables: _Tables, scene: Scene, arrangement: Arrangement, kind: str, vocabulary: Vocabulary
) -> tuple[Row, Row]:
    form = _form(arrangement, kind)
    foil = swap_attribute(form, kind)
    if not holds(form, scene) or holds(foil.form, scene):
        raise AssertionError(f"{form} and its swap {foil.form} are not true and false of {scene}")
    caption, swap = tables.text(form, vocabulary), tables.text(foil.form, vocabulary)
    return (
        {"text_id": caption, "slot": "c", "truth": True, "changed": [], "of": None},
        {"text_id": swap, "slot": "n", "truth": False, "changed": list(foil.changed), "of": caption},
    )


def _add_item(tables: _Tables, item_id: str, scene_id: str, candidates: list[Row], item: Row) -> None:
    tables.items.append({"item_id": item_id, **item})
    tables.candidates += [{"item_id": item_id, "scene_id": scene_id, **row} for row in candidates]


def _add_pool(tables: _Tables, vocabulary: Vocabulary, kind: str) -> None:
    for arrangement in arrangements(vocabulary, kind):
        tables.pools.append({"pool_id": POOL, "text_id": tables.text(_form(arrangement, kind), vocabulary)})


def _manifest(world: World, holdout: Holdout, counts: Mapping[str, int], exposed_negatives: bool) -> Row:
    declared = ["train negatives show held-out bindings (--exposed-negatives)"] if exposed_negatives else []
    return {
        "world": world.digest, "design": "bindsplit", "holdout": json.loads(json.dumps(holdout.to_dict())),
        "scenes": dict(counts), "exposed_negatives": exposed_negatives, "declared_leaks": declared,
    }  # fmt: skip
