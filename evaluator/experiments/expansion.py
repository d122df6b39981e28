"""From a declaration to its stages: names are replaced by what they stand for, and lists multiply the stages that name them."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from evaluator.experiments.commands import KINDS, RUN, SHOWN, kind_of, words_of
from evaluator.experiments.declaration import MODEL, Element, Experiment, Model, Value
from evaluator.experiments.stages import Stage, in_order
from generator.base.errors import UserError, did_you_mean

_REFERENCE = re.compile(r"\{([^{}]*)\}")
_PARTS: dict[str, Callable[[Model], str]] = {
    "": lambda model: model.spec, "run": lambda model: model.run, "train": lambda model: model.train, "method": lambda model: model.method,
}  # fmt: skip
"""What {model} and {model.PART} stand for."""


@dataclass(frozen=True)
class _Found:
    """A text in which some names are replaced. bound: the elements that lists and tables stand for, by name."""

    bound: Mapping[str, str]
    text: str = ""
    outline: str = ""
    reads: tuple[Stage, ...] = ()
    missing: str = ""

    def then(self, more: "_Found") -> "_Found":
        return _Found(
            more.bound, self.text + more.text, self.outline + more.outline, self.reads + more.reads,
            self.missing or more.missing,
        )  # fmt: skip


@dataclass(frozen=True)
class _Instance:
    """A stage for some elements of the lists that it names, or the reason for which it cannot be."""

    bound: Mapping[str, str]
    stage: Stage | None
    missing: str = ""


@dataclass
class _Expansion:
    experiment: Experiment
    values: Mapping[str, Value]
    models: Mapping[str, Model]
    made: dict[str, list[_Instance]] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)

    def instances(self, name: str) -> list[_Instance]:
        """All stages of a name in [stages]."""
        if name in self.open:
            raise UserError(f"stages.{name} reads itself ({' → '.join([*self.open, name])}); break the circle.")
        if name not in self.made:
            self.open.append(name)
            self.made[name] = list(self.commands(self.experiment.stages[name], f"stages.{name}"))
            self.open.pop()
        return self.made[name]

    def commands(self, text: str, place: str, label: str = "") -> Iterator[_Instance]:
        """The stages of a command."""
        partial: list[tuple[_Found, list[str], list[str]]] = [(_Found({}), [], [])]
        for word in words_of(text, place):
            whole = _REFERENCE.fullmatch(word)
            splits = whole is not None and whole[1] != MODEL and whole[1] not in self.experiment.stages
            partial = [
                (
                    replace(more, reads=found.reads + more.reads, missing=found.missing or more.missing),
                    said + (shlex.split(more.text) if splits else [more.text]),
                    [*outline, more.outline],
                )
                for found, said, outline in partial
                for more in self.text(word, found.bound, place)
            ]
        for found, said, outline in partial:
            if found.missing:
                yield _Instance(found.bound, None, found.missing)
                continue
            kind = kind_of(said, place)
            reads = tuple({stage.digest: stage for stage in found.reads}.values())
            if kind.amends and not reads:
                raise UserError(f"{place}: `{kind.name}` changes a folder, so it has to name the stage that made it.")
            yield _Instance(
                found.bound, Stage(kind, tuple(said[len(kind.words) :]), reads, " ".join(outline), self.label(label, found.bound, place))
            )  # fmt: skip

    def text(self, text: str, bound: Mapping[str, str], place: str) -> Iterator[_Found]:
        """A text, with each choice of elements that `bound` leaves."""
        found = [_Found(bound)]
        for i, part in enumerate(_REFERENCE.split(text)):
            found = [
                before.then(more)
                for before in found
                for more in (self.name(part, before.bound, place) if i % 2 else [_Found(before.bound, part, part)])
            ]
        return iter(found)

    def name(self, reference: str, bound: Mapping[str, str], place: str) -> Iterator[_Found]:
        """What a name stands for."""
        if "=" in reference:
            yield from self.chosen(reference, bound, place)
            return
        name, _, part = reference.partition(".")
        if name.endswith("*") and isinstance(value := self.values.get(name[:-1]), tuple):
            yield _Found(bound, ",".join(map(str, value)), ",".join(map(str, value)))
        elif reference in self.experiment.stages:
            for each in self.instances(reference):
                if all(bound.get(axis, key) == key for axis, key in each.bound.items()):
                    merged = {**bound, **each.bound}
                    if each.stage is None:
                        yield _Found(merged, missing=each.missing)
                    else:
                        yield _Found(merged, each.stage.mark, f"{{{reference}}}", (each.stage,))
        elif name == MODEL and self.models:
            yield from self.of_models(part, bound, place)
        elif name in self.values:
            yield from self.of_values(name, part, bound, place)
        else:
            known = [*self.experiment.stages, *self.values, *([MODEL] if self.models else [])]
            raise UserError(f"{place}: nothing defines '{{{reference}}}'; {did_you_mean(name, known)}")

    def chosen(self, reference: str, bound: Mapping[str, str], place: str) -> Iterator[_Found]:
        """What {NAME=ELEMENT} stands for: one element of a list, table or [models]; nothing where the scale leaves it out."""
        name, _, key = reference.partition("=")
        listed = (
            (self.models, self.experiment.models)
            if name == MODEL
            else (self.values.get(name), self.experiment.values.get(name))
        )
        known = [str(each) for of in listed if isinstance(of, tuple | Mapping) for each in of]
        if key not in known:
            raise UserError(f"{place}: '{{{reference}}}' chooses what there is not; {did_you_mean(key, known)}")
        if bound.get(name, key) == key:
            yield from self.name(name, {**bound, name: key}, place)

    def of_models(self, part: str, bound: Mapping[str, str], place: str) -> Iterator[_Found]:
        if part not in _PARTS:
            known = ", ".join(f"{{model{'.' * bool(each)}{each}}}" for each in _PARTS)
            raise UserError(f"{place}: expected one of {known}, got '{{model.{part}}}'.")
        for key, model in self.models.items():
            if bound.get(MODEL, key) == key:
                merged = {**bound, MODEL: key}
                if model.missing:
                    yield _Found(merged, missing=model.missing)
                else:
                    yield from self.text(_PARTS[part](model), merged, f"models.{key}")

    def of_values(self, name: str, part: str, bound: Mapping[str, str], place: str) -> Iterator[_Found]:
        value = self.values[name]
        if part and not isinstance(value, Mapping):
            raise UserError(f"{place}: '{name}' is no table, so it has no '{part}'; write {{{name}}}.")
        if name in self.open:
            raise UserError(f"values.{name} stands for itself; break the circle.")
        self.open.append(name)
        try:
            if isinstance(value, tuple):
                chosen = [(str(each), each) for each in value if bound.get(name, str(each)) == str(each)]
                yield from (_Found({**bound, name: key}, key, f"{{{name}}}") for key, _ in chosen)
            elif isinstance(value, Mapping):
                for key, element in value.items():
                    if bound.get(name, key) == key:
                        text = _of_element(element, part, f"{place}: {name}.{key}")
                        yield from list(self.text(text, {**bound, name: key}, f"values.{name}.{key}"))
            else:
                yield from list(self.text(str(value), bound, f"values.{name}"))
        finally:
            self.open.pop()

    def label(self, label: str, bound: Mapping[str, str], place: str) -> str:
        """The label of a run; in labels a name stands for the name of its element."""

        def key(match: re.Match[str]) -> str:
            if match[1] not in bound:
                raise UserError(
                    f"{place}: the label names '{{{match[1]}}}', over which its command does not go; "
                    f"{did_you_mean(match[1], list(bound)) if bound else 'it has no list.'}"
                )
            return bound[match[1]]

        return _REFERENCE.sub(key, label)


@dataclass(frozen=True)
class Expanded:
    """An experiment at a scale. runs: of its labels. missing: by label, why there are no runs of it. shown: what stands beside the
    tables; unshown: by label, why it does not.
    """

    paper: str
    runs: Sequence[Stage]
    missing: Mapping[str, str]
    shown: Sequence[Stage] = ()
    unshown: Mapping[str, str] = field(default_factory=dict)

    @property
    def stages(self) -> list[Stage]:
        """Everything that the tables need, each after what it reads."""
        return in_order([*self.runs, *self.shown])

    def tables(self, failed: Mapping[str, str] = MappingProxyType({})) -> Stage:
        """The stage of the tables. failed: by the names of runs that there are not, why."""
        runs = [run for run in (*self.runs, *self.shown) if run.name not in failed]
        reasons = {run.label: failed[run.name] for run in self.runs if run.name in failed}
        absent = [f"{label}={reason}" for label, reason in {**self.missing, **reasons}.items()]
        words = [
            self.paper,
            *(f"{run.label}={run.mark}" for run in runs),
            *(word for each in absent for word in ("--missing", each)),
        ]
        return Stage(KINDS["score tables"], tuple(words), tuple(runs), f"score tables {self.paper}")


def expand(experiment: Experiment, scale: str) -> Expanded:
    """The runs of an experiment at a scale, with all that they read.

    Raises UserError for an unknown scale, for a name that nothing defines, and for stages that read one another in a circle.
    """
    expansion = _Expansion(experiment, *experiment.at(scale))
    for name in experiment.stages:
        expansion.instances(name)  # what no run reads is not made, but its mistakes are told
    whole = _Expansion(experiment, *experiment.at(scale, whole=True))

    def expanded(
        section: str, labelled: Mapping[str, str | Sequence[str]], kinds: Sequence[str]
    ) -> tuple[list[Stage], dict[str, str]]:
        stages, missing = _labelled(expansion, section, labelled, kinds)
        everything, more = _labelled(whole, section, labelled, kinds)
        left_out = dict.fromkeys((*(stage.label for stage in everything), *more), f"left out at the scale {scale}")
        made = {stage.label for stage in stages}
        return stages, {label: why for label, why in {**left_out, **missing}.items() if label not in made}

    runs, missing = expanded("runs", experiment.runs, (RUN,))
    shown, unshown = expanded("shown", experiment.shown, SHOWN)
    labels = {run.label for run in runs}
    reasons = {label: why for label, why in experiment.missing.items() if label not in labels}
    return Expanded(experiment.tables, runs, {**missing, **reasons}, shown, unshown)


def _labelled(
    expansion: _Expansion, section: str, labelled: Mapping[str, str | Sequence[str]], kinds: Sequence[str]
) -> tuple[list[Stage], dict[str, str]]:
    """The stages of commands by label, which have to be of some kinds, and the reasons of those that cannot be, by label."""
    runs: list[Stage] = []
    missing: dict[str, str] = {}
    commands = [
        (label, each) for label, given in labelled.items() for each in ([given] if isinstance(given, str) else given)
    ]
    for label, command in commands:
        place = f"{section}.'{label}'"
        if " ".join(words_of(command, place)[:2]) not in kinds:
            expected = " or ".join(f"`{kind}`" for kind in kinds)
            raise UserError(f"{place}: expected a {expected}, got '{command}'; put other commands under [stages].")
        for each in expansion.commands(command, place, label):
            if each.stage:
                runs.append(each.stage)
            else:
                missing[expansion.label(label, each.bound, place)] = each.missing
    return runs, missing


def _of_element(element: Element, part: str, place: str) -> str:
    if isinstance(element, Mapping):
        if part in element:
            return str(element[part])
        known = ", ".join(f"{{….{each}}}" for each in element)
        raise UserError(
            f"{place} has no '{part}'; expected one of {known}."
            if part
            else f"{place} is a table; name one of {known}."
        )
    if part:
        raise UserError(f"{place} is no table, so it has no '{part}'; leave the part out.")
    return str(element)
