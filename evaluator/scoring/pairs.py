"""Models that read an image and a text together: each distinct pair is scored once, pair by pair, grouped by image."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.models.registry import PairScorer
from evaluator.scoring.batches import FIRST, Job, Settings, Stage
from evaluator.scoring.cache import ScoreCache
from evaluator.scoring.distributed import Rank, Store
from evaluator.scoring.dual import precise_key, text_digest
from evaluator.scoring.needs import Needs, Pair
from evaluator.scoring.preflight import announce_time
from evaluator.scoring.writing import write_pool, write_scores
from generator.dataset.errors import UserError
from generator.dataset.reader import Benchmark, World


def score_pairs(
    model: PairScorer, world: World, benchmark: Benchmark, needs: Needs, out: Path, settings: Settings, rank: Rank,
    cache_folder: Path | None, sized: Callable[[int], None],
) -> None:  # fmt: skip
    """Score what is not in the cache; the first process writes scores.parquet and pools/*.npy."""
    work = _Work(model, world, benchmark, needs)
    cache = ScoreCache(precise_key(model.key, settings.precision), cache_folder)
    with Store(cache, out, "pairs", rank) as store:
        stage = Stage(
            Job("pairs", work.names, work.plan, work.images, world.image, work.compute), store, rank, settings
        )
        stage.warm_up()
        sized(stage.limit)
        announce_time([stage], rank)
        stage.finish()
        if rank.first:
            _write(out, needs, work, store.gather(work.names, "pairs"), model.channels)


class _Work:
    """The distinct pairs in the order in which they are scored: by image, what is compared with one another together."""

    def __init__(self, model: PairScorer, world: World, benchmark: Benchmark, needs: Needs):
        self._model, self._text_of = model, benchmark.text_of
        contests = [*needs.contests, *(
            [(image, text) for text in texts] for images, texts in needs.pools.values() for image in images
        )]  # fmt: skip
        spare = set(needs.pairs).difference(*contests)
        self._digest = {image: world.image_digest(image) for image in needs.images}
        self._text = {text: text_digest(benchmark.text_of[text]) for text in needs.texts}
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
        self._together = self._components()
        self._whole = bool(getattr(model, "contested", False))
        self.names = self._apart() if self._whole else list(self._row)

    def row(self, pair: Pair) -> int:
        """The row of a pair of image and text."""
        return self._row[self._name(*pair)]

    def plan(self, batch: int) -> list[list[int]]:
        """Whole components (what is of one image or in one contest) as long as they fit; larger ones are cut, but for models
        whose scores depend on what a pair is compared with."""
        batches: list[list[int]] = []
        filling: list[int] = []
        for component in self._together:
            room = batch if len(batches) >= 2 else min(FIRST, batch)  # the first two are small, to tell the pace
            if filling and len(filling) + len(component) > room:
                batches.append(filling)
                filling = []
            filling = filling + component
            while len(filling) > batch and not self._whole:
                batches.append(filling[:batch])
                filling = filling[batch:]
        return [*batches, filling] if filling else batches

    def images(self, rows: list[int]) -> list[str]:
        """The distinct images of some rows."""
        return list(dict.fromkeys(self._pairs[row][0] for row in rows))

    def compute(self, rows: list[int], loaded: Mapping[str, Any]) -> np.ndarray:
        """Scores, float32 (rows, channels). Raises UserError when the model gives another shape."""
        scenes = self.images(rows)
        place_of = {scene: place for place, scene in enumerate(scenes)}
        pairs = [(place_of[self._pairs[row][0]], self._text_of[self._pairs[row][1]]) for row in rows]
        scores = np.asarray(
            self._model.score_pairs([loaded[scene] for scene in scenes], pairs, self._contests_among(rows)),
            dtype=np.float32,
        )
        expected = (len(rows), len(self._model.channels))
        if scores.shape != expected:
            raise UserError(
                f"The model gave scores of the shape {scores.shape}, expected {expected}: a row a pair, a column a channel; mend its score_pairs."
            )
        return scores

    def _contests_among(self, rows: list[int]) -> list[list[int]]:
        """The places in `rows` that are compared with one another, as far as they are there."""
        place_of = {row: place for place, row in enumerate(rows)}
        contests = sorted({contest for row in rows for contest in self._contests_of[row]})
        found = ([place_of[row] for row in self._contests[contest] if row in place_of] for contest in contests)
        return [places for places in found if len(places) > 1]

    def _apart(self) -> list[str]:
        """Names for models whose scores depend on what a pair is compared with: all of a component is known, or nothing."""
        names = list(self._row)
        for component in self._together:
            among = hashlib.sha256("\n".join(sorted(names[row] for row in component)).encode()).hexdigest()[:16]
            for row in component:
                names[row] += f":{among}"
        return names

    def _components(self) -> list[list[int]]:
        """Rows that hang together through an image or a contest, in the order of their first row."""
        root = list(range(len(self._pairs)))

        def find(row: int) -> int:
            while root[row] != row:
                root[row] = root[root[row]]
                row = root[row]
            return row

        first: dict[str, int] = {}
        links = [(contest[0], other) for contest in self._contests for other in contest[1:]]
        links += [(first.setdefault(image, row), row) for row, (image, _) in enumerate(self._pairs)]
        for a, b in links:
            a, b = sorted((find(a), find(b)))
            root[b] = a
        members: dict[int, list[int]] = {}
        for row in range(len(root)):
            members.setdefault(find(row), []).append(row)
        return list(members.values())

    def _name(self, image: str, text: str) -> str:
        return f"{self._digest[image]}:{self._text[text]}"


def _write(out: Path, needs: Needs, work: _Work, found: dict[str, np.ndarray], channels: Sequence[str]) -> None:
    scores = np.stack([found[name] for name in work.names]).astype(np.float32)
    write_scores(out, needs.pairs, scores[[work.row(pair) for pair in needs.pairs]], channels)
    for pool, (images, texts) in needs.pools.items():
        rows = np.array([[work.row((image, text)) for text in texts] for image in images])
        for place, channel in enumerate(channels):
            write_pool(out, pool, channel, place, scores[rows, place])
