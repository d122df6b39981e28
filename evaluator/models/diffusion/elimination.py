"""Texts are compared in stages: each gets samples until all contests that it is in are decided."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import networkx as nx
import numpy as np

from evaluator.models.diffusion.schedules import Schedule

MeasureErrors = Callable[[list[int], np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Elimination:
    """One text of a contest beat another: by a difference of mean errors, after a number of samples."""

    winner: int
    loser: int
    difference: float
    samples: int


@dataclass(frozen=True)
class Outcome:
    """Mean error of each text, float64 (texts,), and its number of samples, int64 (texts,)."""

    errors: np.ndarray
    samples: np.ndarray


def eliminate(
    texts: int, contests: Sequence[Sequence[int]], schedule: Schedule, order: np.ndarray, measure: MeasureErrors
) -> Outcome:
    """Run a schedule over texts 0 … texts − 1. `measure` gives errors, float64 (texts, samples), of texts at samples.

    `order` is the order in which samples are taken, int64 (schedule.total,). A text that is in no contest with another
    gets all samples. The mean error is over the text's own samples. Where a text was beaten and its mean is nevertheless
    smaller than the winner's, which had more samples, it is set to the winner's plus the difference at that stage.
    """
    table = np.full((texts, schedule.total), np.nan)
    samples = np.zeros(texts, dtype=np.int64)
    running = [sorted(set(contest)) for contest in contests if len(set(contest)) > 1]
    alone = set(range(texts)).difference(*running)
    eliminations: list[Elimination] = []
    for stage, (before, n) in enumerate(pairwise((0, *schedule.stages))):
        active = sorted(alone.union(*running))
        if not active:
            break
        table[np.array(active)[:, None], order[before:n]] = measure(active, order[before:n])
        samples[active] = n
        by_level = np.sort(order[:n])
        for place, contest in enumerate(running):
            errors = table[np.array(contest)[:, None], by_level]
            beaten = schedule.beaten(errors, stage)
            means = errors.mean(1)
            best = int(means.argmin())
            eliminations += [
                Elimination(contest[best], contest[i], float(means[i] - means[best]), n) for i in np.flatnonzero(beaten)
            ]
            running[place] = [text for text, out in zip(contest, beaten, strict=True) if not out]
        running = [contest for contest in running if len(contest) > 1]
    return Outcome(_agreeing(np.nanmean(table, axis=1), eliminations), samples)


def _agreeing(errors: np.ndarray, eliminations: list[Elimination]) -> np.ndarray:
    """Raises each eliminated text's error above its winner's, so that final scores agree with the eliminations.

    Of eliminations that contradict one another, those after more samples hold.
    """
    beats = nx.DiGraph()
    for elimination in eliminations:  # in the order of their stages, so that a later one replaces an earlier one
        beats.add_edge(elimination.winner, elimination.loser, elimination=elimination)
    while not nx.is_directed_acyclic_graph(beats):
        circle = [beats.edges[edge]["elimination"] for edge in nx.find_cycle(beats)]
        weakest = min(circle, key=lambda elimination: elimination.samples)
        beats.remove_edge(weakest.winner, weakest.loser)
    errors = errors.copy()
    for winner in nx.topological_sort(beats):
        for loser, edge in beats[winner].items():
            if errors[loser] < errors[winner]:
                errors[loser] = errors[winner] + edge["elimination"].difference
    return errors
