"""What an experiment costs: stages by kind, their work as far as it is known, and time by the rates of stages that have ended here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import mean
from typing import Any

from evaluator.experiments.amounts import amount_of, unit_of
from evaluator.experiments.planned import planned_amount
from evaluator.experiments.process import DONE, done
from evaluator.experiments.stages import Stage
from generator.base.files import read_json


@dataclass(frozen=True)
class Cost:
    """Of the stages of a kind: how many there are, and how many have ended; of the others, the work and seconds.

    unit: what `amount` counts. unknown: of how many stages neither their files nor a stage like them tells the amount.
    seconds: of those that can be estimated; untimed: how many cannot.
    """

    kind: str
    stages: int
    ended: int
    unit: str
    amount: int
    unknown: int
    seconds: float
    untimed: int


class Rates:
    """Seconds and amounts of the stages that have ended in a folder, of any experiment."""

    def __init__(self, root: Path):
        records = [read_json(path) for path in sorted(root.glob(f"*/{DONE}"))]
        self._like: dict[str | None, list[dict[str, Any]]] = {}
        for record in records:
            self._like.setdefault(record.get("like"), []).append(record)

    def amount(self, stage: Stage, root: Path) -> float | None:
        """Of its own files, else the mean of stages like it, else as planned."""
        known = amount_of(stage, root).get("amount")
        if known is None:
            known = self._mean(stage, "amount")
        return planned_amount(stage, root) if known is None else known

    def seconds(self, stage: Stage) -> float | None:
        """The mean of stages like it; None where none was timed."""
        return self._mean(stage, "seconds")

    def _mean(self, stage: Stage, name: str) -> float | None:
        found = [each[name] for each in self._like.get(stage.like, ()) if each.get(name) is not None]
        return mean(found) if found else None


def costs(stages: Sequence[Stage], root: Path) -> list[Cost]:
    """The costs of stages by kind, in their order."""
    rates, found = Rates(root), []
    for kind in dict.fromkeys(stage.kind.name for stage in stages):
        of_kind = [stage for stage in stages if stage.kind.name == kind]
        left = [stage for stage in of_kind if not done(stage, root)]
        unit = unit_of(of_kind[0].kind)
        amounts = [rates.amount(stage, root) for stage in left] if unit else []
        times = [rates.seconds(stage) for stage in left]
        found.append(
            Cost(
                kind, len(of_kind), len(of_kind) - len(left), unit, round(_sum(amounts)), amounts.count(None), _sum(times), times.count(None)
            )
        )  # fmt: skip
    return found


def _sum(values: Iterable[float | None]) -> float:
    return sum(value for value in values if value is not None)


def said(found: Sequence[Cost]) -> list[str]:
    """The costs in lines for people, the time last."""
    lines = [f"{cost.kind}: {_stages(cost.stages)}, {cost.ended} done{_amount_said(cost)}" for cost in found]
    seconds, untimed = sum(cost.seconds for cost in found), sum(cost.untimed for cost in found)
    timed = sum(cost.stages - cost.ended - cost.untimed for cost in found)
    about = f"About {timedelta(seconds=round(seconds))} h"
    if not untimed:
        return [*lines, f"{about} left." if timed else "Nothing is left to do."]
    them = "it has" if untimed == 1 else "them has"
    known = f"{about} for {_stages(timed)} like those that ended here. " if timed else ""
    return [
        *lines,
        f"{known}No estimate of the time for {_stages(untimed)}: nothing like {them} ended here yet.",
    ]


def time_left(found: Sequence[Cost]) -> str:
    """How long stages that have not ended should take, such as "0:41:07 h left"; empty where nothing like them was timed.

    >>> time_left([Cost("score run", 4, 1, "scores", 0, 0, 60.0, 1)])
    'over 0:01:00 h left'
    """
    seconds = round(sum(cost.seconds for cost in found))
    over = "over " * any(cost.untimed for cost in found)
    return f"{over}{timedelta(seconds=seconds)} h left" if seconds else ""


def _stages(count: int) -> str:
    return f"{count} stage{'s' * (count != 1)}"


def _amount_said(cost: Cost) -> str:
    if not cost.unit or cost.ended == cost.stages:
        return ""
    parts = [f"{cost.amount:,} {cost.unit} left"] if cost.amount else []
    if cost.unknown:
        parts.append(f"{cost.unit} of {cost.unknown} not known yet")
    return ", " + ", ".join(parts)
