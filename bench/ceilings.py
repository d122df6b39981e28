"""An oracle and blind models on every preset, protocol, kind and split: `python -m bench.ceilings`.

Prints docs/ceilings.md. The worlds are small and nothing is rendered: an oracle and a blind model
need no pixels. Takes some minutes on two cores. `python -m bench.ceilings NAME` prints the table of
one world.
"""

import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.metrics.ranking import PoolScores
from evaluator.models.blind import BlindScorer, LengthScorer, NgramScorer
from evaluator.models.oracle import Oracle
from evaluator.protocols import find_protocol, protocol_names
from evaluator.protocols.items import positions, split_rank
from evaluator.protocols.measuring import MeasuringRules
from evaluator.protocols.pools import RAW, Pool, item_pools
from evaluator.protocols.records import Row
from evaluator.protocols.scores import Scores
from evaluator.scoring.needs import collect_needs, text_groups, without_pools, words
from evaluator.scoring.oracle import OracleScores, scores_of_pairs
from generator.api import describe_texts
from generator.dataset.reader import Benchmark, Dataset, World
from generator.dataset.records import SCORES
from generator.describe.benchmark import write_benchmarks
from generator.describe.request import text_preset_names
from generator.holdout.presets import preset_names, read_preset
from generator.judge.verify import verify_dataset
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from tests.generator.unrendered import HEIGHT, WIDTH, write_planned

SCENES = {"train": 150, "val": 4, "seen": 30, "partial": 20, "unseen": 30}
ROTATION_SCENES = {"train": 320, "val": 20, "partial": 20, "unseen": 80}
"""Scenes of all turns together; `seen` has the unseen ones of the other turns."""
CLASS_SCENES = "240"
"""Scenes of all class lists together: the design gzsl divides them."""
THREE_OBJECT_SCENES = "4100"
"""The same for class lists over the whole vocabulary: with fewer, a list has no scene."""
BLIND: Mapping[str, type[BlindScorer]] = {"length": LengthScorer, "n-gram": NgramScorer}


@dataclass(frozen=True)
class Setup:
    """A small world and the texts over it."""

    name: str
    """In the table of results."""
    family: str = "clevr"
    """World family."""
    holdout: tuple[str, ...] = ("3x3",)
    """Values of --holdout."""
    design: str = "bindsplit"
    """Value of --design."""
    scenes: Mapping[str, int] | str = field(default_factory=lambda: SCENES)
    """Number of scenes by split, or of all splits together."""
    objects: tuple[int, int] = (2, 2)
    """Least and greatest number of objects in a scene."""
    environments: tuple[str, ...] = ()
    """The only environments; empty for all of the family."""
    pairs: bool = False
    """Whether evaluation scenes have twins."""
    turns: str | None = None
    """The turns of turn twins, in a world of four viewpoints; None for a world of one."""
    texts: str | None = None
    """The preset of texts to describe the world with, "all" for all protocols, None for the world's
    own texts."""


def setups() -> list[Setup]:
    """Every preset of worlds and of texts, and every design."""
    worlds = []
    for name in preset_names():
        preset = read_preset(name)
        scenes: Mapping[str, int] | str = CLASS_SCENES if preset.design == "gzsl" else SCENES
        environments = preset.environments
        worlds.append(
            Setup(
                name,
                preset.family,
                preset.holdout,
                preset.design,
                scenes,
                environments=environments,
            )
        )
    of_texts = {"bare": ("pug-frames", (2, 2)), "compass2026": ("clevr-relations", (3, 4))}
    for name in text_preset_names():
        family, objects = of_texts.get(name, ("clevr-many", (3, 4)))
        worlds.append(Setup(name, family, objects=objects, texts=name))
    with_frames = Setup("turn twins", "pug-frames", turns="90,180", texts="all")
    atoms = {**SCENES, "unseen_atoms": 30}
    relations = ("3x3", "relation:pair=2x3")
    uneven = {**SCENES, "asymmetric_seen": 20, "asymmetric_unseen": 20}
    return [
        *worlds,
        with_frames,
        Setup("bindsplit, all protocols", "clevr-many", objects=(3, 4), pairs=True, texts="all"),
        Setup("bindsplit, 4x6 block", "clevr-many", ("4x6",), objects=(3, 4), texts="all"),
        Setup("bindsplit, relations", "clevr-many", relations, objects=(2, 3), texts="all"),
        Setup("bindsplit, asymmetric", "clevr", ("3x3", "asymmetric"), scenes=uneven, texts="all"),
        Setup("rotation", "clevr", ("turns=4",), "rotation", ROTATION_SCENES, texts="all"),
        Setup("gzsl, three objects", "clevr", ("objects=3",), "gzsl", THREE_OBJECT_SCENES),
        Setup("coverage", "clevr", ("k3",), "coverage", texts="all"),
        Setup(
            "systematicity",
            "clevr-many",
            ("3x3", "atoms=1x2"),
            "systematicity",
            atoms,
            (2, 3),
            texts="all",
        ),
        Setup("none", "clevr-many", ("none",), scenes={"all": 60}, objects=(3, 4), texts="all"),
    ]


@dataclass(frozen=True)
class Cell:
    """The results of one question in one split: shares in 0..1, None where a model is not asked."""

    protocol: str
    """Protocol of the question."""
    question: str
    """Kind, skill and level, and the metric of raw retrieval."""
    split: str
    """Split of its scenes."""
    chance: float | None
    """The least value of guessing among its items; None if guessing has none."""
    oracle: tuple[float, float]
    """The oracle's least and greatest value: raw retrieval of productivity has one for each number
    of atoms."""
    blind: float | None
    """The better value of the blind models."""


def measure_setup(setup: Setup, root: Path) -> list[Cell]:
    """Write a setup's dataset into `root` and put its benchmarks through the oracle and the blind
    models."""
    job = WorldOptions(
        family=setup.family,
        holdout=setup.holdout,
        scenes=setup.scenes,
        resolution=f"{WIDTH}x{HEIGHT}",
        objects=setup.objects,
        pairs=None if setup.turns else setup.pairs,
        viewpoints=4 if setup.turns else None,
        turns=setup.turns,
    )
    job = replace(job, design=setup.design, environments=setup.environments)
    write_planned(root, prepare(job))
    dataset = Dataset.open(root)
    names = list(write_benchmarks(root, dataset.world, exposed_negatives=False))
    if setup.texts is not None:
        preset = None if setup.texts == "all" else setup.texts
        names = [describe_texts(root, benchmark=names[0], name="texts", preset=preset)[0]]
    for name in names:
        # A ceiling of texts with faults would measure the faults.
        certificate = verify_dataset(root, name)[name]
        if certificate["status"] == "failed":
            raise ValueError(f"{setup.name}, {name}: {certificate['sentence']}")
    cells: list[Cell] = []
    for name in names:
        cells += _cells(dataset.benchmark(name), dataset.world)
    return cells


def _cells(benchmark: Benchmark, world: World) -> Iterator[Cell]:
    """The results of each question in each split, without validation splits."""
    oracle = _oracle_rows(benchmark, world)
    blind = [_blind_rows(benchmark, scorer()) for scorer in BLIND.values()]
    for (protocol, question, split), rows in oracle.items():
        values = [row["value"] for row in rows if row["value"] is not None]
        # Results are never reported on validation splits.
        if not values or split == "val" or split.endswith("_val"):
            continue
        chances = [row["chance"] for row in rows if row["chance"] is not None]
        blind_values = []
        for rows_of_model in blind:
            for row in rows_of_model.get((protocol, question, split), ()):
                if row["value"] is not None:
                    blind_values.append(row["value"])
        yield Cell(
            protocol,
            question,
            split,
            chance=min(chances, default=None),
            oracle=(min(values), max(values)),
            blind=max(blind_values, default=None),
        )


Rows = dict[tuple[str, str, str], list[Row]]
"""The rows of main metrics and of raw retrieval, by protocol, question and split."""


def _oracle_rows(benchmark: Benchmark, world: World) -> Rows:
    oracle = Oracle()
    oracle.open(benchmark, world)
    row_of_text = {
        text_id: row for row, text_id in enumerate(benchmark.texts["text_id"].to_pylist())
    }

    def matrix(pool: Pool) -> PoolScores:
        return OracleScores(
            oracle, pool.images, np.array([row_of_text[text] for text in pool.texts], np.int64)
        )

    candidates = benchmark.candidates
    text_rows = positions(candidates["text_id"], benchmark.texts["text_id"])
    of_evaluation = np.flatnonzero(
        positions(candidates["item_id"], _evaluation_items(benchmark)) >= 0
    )
    scene_ids = candidates["scene_id"].take(pa.array(of_evaluation)).to_pylist()
    scores = scores_of_pairs(oracle, scene_ids, text_rows[of_evaluation])
    return _rows(
        benchmark, _protocols(benchmark), candidates.take(pa.array(of_evaluation)), scores, matrix
    )


def _blind_rows(benchmark: Benchmark, scorer: BlindScorer) -> Rows:
    """The rows of a blind model; it is not asked pools, whose other texts would tell it which texts
    are asked about."""
    protocols = [name for name in _protocols(benchmark) if name != "retrieval"]
    if not protocols:
        return {}
    needs = without_pools(collect_needs(benchmark, protocols))
    texts = words(benchmark, needs.texts).to_pylist()
    scorer.fit_texts(texts, text_groups(needs, benchmark))
    images, pairs = needs.images.to_pylist(), needs.pairs.T.tolist()
    scores = scorer.score_pairs(images, [(image, texts[text]) for image, text in pairs])[:, 0]
    image_ids, text_ids = needs.ids()
    table = pa.table({"scene_id": image_ids, "text_id": text_ids})
    return _rows(benchmark, protocols, table, scores, _no_pool)


def _no_pool(pool: Pool) -> PoolScores:
    raise AssertionError(f"a blind model is not asked {pool.name}")


def _protocols(benchmark: Benchmark) -> list[str]:
    return [name for name in protocol_names() if benchmark.items_of(name).num_rows]


def _evaluation_items(benchmark: Benchmark) -> pa.ChunkedArray:
    return benchmark.items.filter(pc.not_equal(benchmark.items["protocol"], "train"))["item_id"]


def _rows(
    benchmark: Benchmark, protocols: Sequence[str], pairs: pa.Table, scores: np.ndarray, matrix: Any
) -> Rows:
    """Measure the scores of pairs of scenes and texts, without intervals."""
    is_blind = matrix is _no_pool
    table = pa.table(
        {
            "image_id": pairs["scene_id"],
            "text_id": pairs["text_id"],
            "channel": pa.repeat(pa.scalar("score"), len(scores)),
            "score": pa.array(scores.astype(np.float32)),
            "unscored": pa.nulls(len(scores), pa.string()),
        },
        schema=SCORES,
    )
    # A blind model is asked neither pools nor folds.
    folds = {}
    if not is_blind:
        for name in protocols:
            of_protocol = find_protocol(name).folds(benchmark)
            if of_protocol:
                folds[name] = of_protocol
    pools = [] if is_blind else item_pools(benchmark, protocols)
    of_run = Scores(
        benchmark=benchmark,
        protocols=protocols,
        pools=pools,
        folds=folds,
        table=table,
        matrix=matrix,
        indistinct={},
        rules=MeasuringRules(intervals=False),
    )
    rows: Rows = defaultdict(list)
    for name in protocols:
        measured = find_protocol(name).measure(of_run)
        # A protocol lists its main metric first.
        main = measured.outcomes[0].metric
        for row in measured.rows:
            is_raw = row["kind"] == RAW
            is_main = row["metric"] == main and row["n"] is None
            # Gaps follow from the rows of their splits.
            if not row["is_gap"] and (is_raw or is_main):
                labels = [row["kind"], row["skill"], row["level"]]
                if is_raw:
                    labels = [row["metric"]]
                question = ", ".join(str(label) for label in labels if label is not None)
                rows[name, question or "all kinds", row["split"]].append(row)
    return rows


HEAD = """# Ceiling and floor of every preset

[What is measured](protocols.md#ceiling-and-floor) defines both. `python -m bench.ceilings` makes this page from small \
worlds ({scenes} scenes where splits are blocks), and a test compares it. A cell has the oracle's result, then the \
better result of `blind:length` and `blind:ngram`, in %; "–" where a blind model is not asked. **Bold**: the oracle \
does not reach 100%. A range is over numbers of atoms. Blind results of few items scatter widely: \
[`score audit`](audit.md) tests them. Splits without a cell have no question, which `gen describe` says. Ladders have no \
splits: the oracle reaches 100% at every step, a blind model 50% ([ladders](ladders.md)).
"""


def page(tables: Mapping[str, Sequence[Cell]]) -> str:
    """docs/ceilings.md: a table for each setup."""
    parts = [HEAD.format(scenes=sum(SCENES.values()))]
    for name, cells in tables.items():
        splits = sorted({cell.split for cell in cells}, key=split_rank)
        parts.append(f"## {name}\n")
        parts.append(f"| protocol | question | chance | {' | '.join(splits)} |")
        parts.append(f"|---|---|---:|{'---:|' * len(splits)}")
        lines: dict[tuple[str, str], dict[str, Cell]] = defaultdict(dict)
        for cell in cells:
            lines[cell.protocol, cell.question][cell.split] = cell
        for (protocol, question), of_split in lines.items():
            chances = [cell.chance for cell in of_split.values() if cell.chance is not None]
            chance = min(chances, default=None)
            texts = [_cell_text(of_split[split]) if split in of_split else "" for split in splits]
            parts.append(f"| {protocol} | {question} | {_percent(chance)} | {' | '.join(texts)} |")
        parts.append("")
    return "\n".join(parts)


def _cell_text(cell: Cell) -> str:
    """The oracle's result, bold below 100%, then that of the blind models."""
    least, most = cell.oracle
    oracle = _percent(least) if least == most else f"{_percent(least)}–{_percent(most)}"
    if least != 1:
        oracle = f"**{oracle}**"
    return f"{oracle} / {_percent(cell.blind)}"


def _percent(share: float | None) -> str:
    if share is None:
        return "–"
    # Chance in a pool of thousands of texts.
    if 0 < share < 0.001:
        return f"{100 * share:.2g}"
    return f"{100 * share:.1f}".removesuffix(".0")


def tables(names: Sequence[str] = ()) -> dict[str, list[Cell]]:
    """The cells of the setups of these names, by default of all."""
    cells_of_setup = {}
    with tempfile.TemporaryDirectory() as folder:
        chosen = [setup for setup in setups() if not names or setup.name in names]
        for number, setup in enumerate(chosen):
            cells_of_setup[setup.name] = measure_setup(setup, Path(folder) / str(number))
    return cells_of_setup


if __name__ == "__main__":
    print(page(tables(sys.argv[1:])), end="")
