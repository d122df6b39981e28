"""Texts race against each other: each gets samples until all the contests that it is in are decided."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import networkx as nx
import numpy as np

from evaluator.models.diffusion.schedules import Schedule

Draw = Callable[[list[int], np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Verdict:
    """That the one text of a contest is better than the other: by that difference of mean errors, over so many samples."""

    winner: int
    loser: int
    difference: float
    samples: int


@dataclass(frozen=True)
class Outcome:
    """Of each text: its mean error, float64 (texts,), and the number of samples that it had, int64 (texts,)."""

    errors: np.ndarray
    samples: np.ndarray


def race(texts: int, contests: Sequence[Sequence[int]], schedule: Schedule, order: np.ndarray, draw: Draw) -> Outcome:
    """Run a schedule. `draw` gives errors, float64 (texts, samples), of some texts at some samples.

    A text that is in no contest with another gets all samples. A mean is over the samples that a text had; a beaten
    text whose mean is nevertheless below that of what has beaten it, since the other had more samples, is put behind
    it by the difference at which it was beaten.
    """
    table = np.full((texts, schedule.total), np.nan)
    samples = np.zeros(texts, dtype=np.int64)
    running = [sorted(set(contest)) for contest in contests if len(set(contest)) > 1]
    alone = set(range(texts)).difference(*running)
    verdicts: list[Verdict] = []
    for stage, (before, n) in enumerate(pairwise((0, *schedule.stages))):
        active = sorted(alone.union(*running))
        if not active:
            break
        table[np.array(active)[:, None], order[before:n]] = draw(active, order[before:n])
        samples[active] = n
        by_level = np.sort(order[:n])
        for place, contest in enumerate(running):
            errors = table[np.array(contest)[:, None], by_level]
            beaten = schedule.beaten(errors, stage)
            means = errors.mean(1)
            best = int(means.argmin())
            verdicts += [
                Verdict(contest[best], contest[i], float(means[i] - means[best]), n) for i in np.flatnonzero(beaten)
            ]
            running[place] = [text for text, out in zip(contest, beaten, strict=True) if not out]
        running = [contest for contest in running if len(contest) > 1]
    return Outcome(_settled(np.nanmean(table, axis=1), verdicts), samples)


def _settled(errors: np.ndarray, verdicts: list[Verdict]) -> np.ndarray:
    """Mean errors among which every verdict holds; of verdicts that contradict one another, those on more samples."""
    beats = nx.DiGraph()
    for verdict in verdicts:  # in the order of their stages: a later one takes the place of an earlier one
        beats.add_edge(verdict.winner, verdict.loser, verdict=verdict)
    while not nx.is_directed_acyclic_graph(beats):
        circle = [beats.edges[edge]["verdict"] for edge in nx.find_cycle(beats)]
        weakest = min(circle, key=lambda verdict: verdict.samples)
        beats.remove_edge(weakest.winner, weakest.loser)
    errors = errors.copy()
    for winner in nx.topological_sort(beats):
        for loser, edge in beats[winner].items():
            if errors[loser] < errors[winner]:
                errors[loser] = errors[winner] + edge["verdict"].difference
    return errors
