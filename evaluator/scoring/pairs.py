"""Score models that read an image and a text together: each distinct pair is scored once, in batches grouped by image."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from evaluator.images import Images
from evaluator.models.contracts import PairScorer
from evaluator.scoring.batches import DEFAULT, FIRST, BatchRunner, Job, Settings
from evaluator.scoring.cache import ScoreCache
from evaluator.scoring.distributed import Process, VectorStore
from evaluator.scoring.dual import cache_key
from evaluator.scoring.needs import Needs, Pair
from evaluator.scoring.preflight import announce_time
from evaluator.scoring.writing import write_pool, write_scores
from generator.dataset.errors import UserError
from generator.dataset.reader import Benchmark


def score_pairs(
    model: PairScorer, world: Images, benchmark: Benchmark, needs: Needs, names: Mapping[str, str], out: Path, settings: Settings, process: Process,
    cache_folder: Path | None,
) -> None:  # fmt: skip
    """Score pairs that are not in the cache; the main process writes scores.parquet and pools/*.npy.

    names: the name of each text in the cache, by text_id. The model's own batch has the size that was asked for; results are
    kept after each batch of that size, by default of DEFAULT pairs.
    """
    if settings.batch is not None:
        model.batch.size = settings.batch
    settings = replace(settings, batch=settings.batch or DEFAULT)
    pairs = _DistinctPairs(model, world, benchmark, needs, names)
    cache = ScoreCache(cache_key(model.key, settings.precision), cache_folder)
    with VectorStore(cache, out, "pairs", process) as store:
        load = world.image if model.reads_images else str
        job = Job("pair", pairs.names, pairs.plan, pairs.images, load, pairs.compute)
        runner = BatchRunner(job, store, process, settings)
        runner.warm_up()
        announce_time([runner], process)
        runner.finish()
        if process.is_main:
            found = store.gather(pairs.names)
            _write(out, needs, pairs, found, model.channels)
            if getattr(model, "asks_again", False):
                cache.forget([name for name, scores in found.items() if np.isnan(scores).all()])


class _DistinctPairs:
    """The distinct pairs in scoring order: sorted by image, with the pairs of a contest together.

    Pairs are distinct by the contents of image and text. A row is the place of a pair in this order.
    """

    def __init__(self, model: PairScorer, world: Images, benchmark: Benchmark, needs: Needs, names: Mapping[str, str]):
        self._model, self._text_of = model, benchmark.text_of
        contests = [*needs.contests, *(
            [(image, text) for text in texts] for images, texts in needs.pools.values() for image in images
        )]  # fmt: skip
        spare = set(needs.pairs).difference(*contests)
        self._digest = {image: world.image_digest(image) for image in needs.images}
        self._text = names
        image_of = {digest: image for image, digest in sorted(self._digest.items(), reverse=True)}
        self._row: dict[str, int] = {}
        self._pairs: list[Pair] = []
        self._contests: list[list[int]] = []
        self._contests_of: list[list[int]] = []
        blocks = [*sorted(contests, key=lambda contest: min(contest)), *([pair] for pair in sorted(spare))]
        for block in blocks:
            for image, text in block:
                name = self._name(image, text)
                if name not in self._row:
                    self._row[name] = len(self._pairs)
                    self._pairs.append((image_of[self._digest[image]], text))
                    self._contests_of.append([])
            rows = sorted({self.row(pair) for pair in block})
            for row in rows:
                self._contests_of[row].append(len(self._contests))
            self._contests.append(rows)
        self._components = self._connected()
        self._contested = model.contested
        self.names = self._contested_names() if self._contested else list(self._row)

    def row(self, pair: Pair) -> int:
        """The row of a pair of image and text."""
        return self._row[self._name(*pair)]

    def plan(self, batch: int) -> list[list[int]]:
        """Packs connected components into batches. One of more than DEFAULT pairs is split unless the model is `contested`;
        a smaller one never is, so that what depends on its images alone is computed once."""
        most = max(batch, DEFAULT)
        batches: list[list[int]] = []
        filling: list[int] = []
        for component in self._components:
            room = batch if len(batches) >= 2 else min(FIRST, batch)  # the first two are small, since they are timed
            if filling and len(filling) + len(component) > room:
                batches.append(filling)
                filling = []
            filling = filling + component
            while len(filling) > most and not self._contested:
                batches.append(filling[:most])
                filling = filling[most:]
        return [*batches, filling] if filling else batches

    def images(self, rows: list[int]) -> list[str]:
        """The distinct images of some rows."""
        return list(dict.fromkeys(self._pairs[row][0] for row in rows))

    def compute(self, rows: list[int], images: Mapping[str, Any]) -> np.ndarray:
        """Scores, float32 (rows, channels). Raises UserError when the model gives another shape."""
        shown = self.images(rows)
        place_of = {image: place for place, image in enumerate(shown)}
        pairs = [(place_of[self._pairs[row][0]], self._text_of[self._pairs[row][1]]) for row in rows]
        scores = np.asarray(
            self._model.score_pairs([images[image] for image in shown], pairs, self._contests_among(rows)),
            dtype=np.float32,
        )
        expected = (len(rows), len(self._model.channels))
        if scores.shape != expected:
            raise UserError(
                f"The model gave scores of the shape {scores.shape}, expected {expected}: a row a pair, a column a channel; mend its score_pairs."
            )
        return scores

    def _contests_among(self, rows: list[int]) -> list[list[int]]:
        """The contests among rows, as lists of places in `rows`; rows of a contest that are not among them are left out."""
        place_of = {row: place for place, row in enumerate(rows)}
        contests = sorted({contest for row in rows for contest in self._contests_of[row]})
        found = ([place_of[row] for row in self._contests[contest] if row in place_of] for contest in contests)
        return [places for places in found if len(places) > 1]

    def _contested_names(self) -> list[str]:
        """Names that include the whole component, so that a component is taken from the cache whole or not at all."""
        names = list(self._row)
        for component in self._components:
            members = hashlib.sha256("\n".join(sorted(names[row] for row in component)).encode()).hexdigest()[:16]
            for row in component:
                names[row] += f":{members}"
        return names

    def _connected(self) -> list[list[int]]:
        """Components of rows that share an image or a contest, each sorted, in the order of their first row."""
        graph = nx.Graph()
        graph.add_nodes_from(range(len(self._pairs)))
        first: dict[str, int] = {}
        for row, (image, _) in enumerate(self._pairs):
            graph.add_edge(first.setdefault(image, row), row)
        for contest in self._contests:
            nx.add_path(graph, contest)
        return sorted(sorted(component) for component in nx.connected_components(graph))

    def _name(self, image: str, text: str) -> str:
        return f"{self._digest[image]}:{self._text[text]}"


def _write(
    out: Path, needs: Needs, pairs: _DistinctPairs, found: dict[str, np.ndarray], channels: Sequence[str]
) -> None:
    scores = np.stack([found[name] for name in pairs.names]).astype(np.float32)
    write_scores(out, needs.pairs, scores[[pairs.row(pair) for pair in needs.pairs]], channels)
    for pool, (images, texts) in needs.pools.items():
        rows = np.array([[pairs.row((image, text)) for text in texts] for image in images])
        for i, channel in enumerate(channels):
            write_pool(out, pool, channel, i, scores[rows, i])
