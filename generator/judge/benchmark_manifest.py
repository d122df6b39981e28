"""Checks what a benchmark's manifest and holdout.json declare: holdout, design, flags, and names of the vocabulary."""

import tomllib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from generator.judge.benchmark import Benchmark
from generator.judge.findings import Finding, finding
from generator.judge.held_out import CLASSES, DESIGNS

_TRIPLES_NAMED = 3


def manifest_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Manifests that declare another holdout, design or summary than holdout.json, or flags that are none, and holdouts that
    name what the vocabulary does not have."""
    manifest, holdout = benchmark.manifest, benchmark.holdout
    if manifest.get("holdout") != holdout:
        yield finding("another holdout", "the manifest spells out another holdout than holdout.json")
    if manifest.get("design") != holdout.get("design"):
        yield finding(
            "wrong manifest",
            f"the manifest has the design '{manifest.get('design')}', holdout.json '{holdout.get('design')}'",
        )
    for flag in ("exposed_negatives", "equal_familiarity"):
        if manifest.get(flag) not in (True, False):
            yield finding("wrong manifest", f"the manifest says {flag}: {manifest.get(flag)}, expected true or false")
    if holdout.get("design") in DESIGNS and manifest.get("held_out") != (due := _summary(holdout)):
        yield finding(
            "wrong manifest", f"the manifest says that '{manifest.get('held_out')}' is held out, holdout.json '{due}'"
        )
    yield from _with_world(benchmark)
    for name in _unknown(holdout, tomllib.loads(benchmark.world.vocabulary)):
        yield finding("wrong holdout", f"holdout.json names {name}, which the vocabulary does not have")


def _with_world(benchmark: Benchmark) -> Iterator[Finding]:
    """A benchmark that says it was made with its world holds out what the world was asked for, in the planned splits."""
    if not benchmark.manifest.get("with_world"):
        return
    asked = benchmark.world.request.get("holdouts", [])
    if benchmark.holdout not in asked:
        yield finding(
            "wrong manifest", "the manifest says that it was made with its world, which was asked for other holdouts"
        )
        return
    planned = benchmark.world.planned_splits(asked.index(benchmark.holdout))
    for scene_id, split in benchmark.split_of.items() if planned else ():
        if planned.get(scene_id) != split:
            yield finding(
                "wrong split",
                f"scene {scene_id} is in {split or 'no split'} and was planned for {planned.get(scene_id) or 'none'}",
            )


def _summary(holdout: Mapping[str, Any]) -> str:
    """What is held out, in the words that a manifest has for it (docs/splits.md)."""
    classes, values, objects = (holdout.get(name, []) for name in ("classes", "values", "objects"))
    kind, category, bindings = holdout.get("kind"), holdout.get("category"), holdout.get("bindings", [])
    if holdout.get("design") == CLASSES:
        return f"{sum(each['split'] != 'train' for each in classes)} of {len(classes)} labels ({holdout.get('task')})"
    if holdout.get("design") == "coverage":
        kept = str([*holdout.get("asked", []), ""][0]).rpartition("k")[2]
        return f"all but {kept} of {len(values)} values of {kind} with each {category}"
    parts = []
    if bindings:
        whole = {tuple(pair) for pair in bindings} == {(value, thing) for value in values for thing in objects}
        parts.append(
            f"{kind} {', '.join(values)} with {category} {', '.join(objects)}"
            if whole
            else f"{len(bindings)} bindings of {kind} and {category}"
        )
    if triples := [" ".join(each) for each in holdout.get("triples", [])]:
        more = ", ..." * (len(triples) > _TRIPLES_NAMED)
        parts.append(f"{len(triples)} relation triples ({', '.join(triples[:_TRIPLES_NAMED])}{more})")
    if absent := [*holdout.get("absent_values", []), *holdout.get("absent_objects", [])]:
        parts.append(f"every {', '.join(absent)}")
    return "; ".join(parts)


def _unknown(holdout: Mapping[str, Any], vocabulary: Mapping[str, Any]) -> Iterator[str]:
    """What a holdout names and the vocabulary does not have."""
    kind, objects = holdout["kind"], vocabulary["objects"]
    if kind not in vocabulary["attributes"]:
        yield f"the attribute kind '{kind}'"
        return
    if holdout["category"] != vocabulary["category"]:
        yield f"the category '{holdout['category']}'"
    classes = holdout.get("classes", [])
    pairs = [*holdout["bindings"], *(pair for each in classes for pair in each.get("bindings", []))]
    triples = [*holdout.get("triples", []), *(each["triple"] for each in classes if "triple" in each)]
    named: list[tuple[str, list[str], Collection[str]]] = [
        ("value", [*holdout.get("values", []), *holdout.get("absent_values", []), *(value for value, _ in pairs)], vocabulary["attributes"][kind]),
        ("object", [*holdout.get("objects", []), *holdout.get("absent_objects", []), *(thing for _, thing in pairs),
                    *(end for s, _, o in triples for end in (s, o))], objects),
        ("relation", [name for _, name, _ in triples], vocabulary.get("relations", {})),
    ]  # fmt: skip
    for what, names, known in named:
        for name in dict.fromkeys(name for name in names if name not in known):
            yield f"the {what} '{name}'"
    for what, listed in (("binding", holdout["bindings"]), ("triple", holdout.get("triples", []))):
        told = [" ".join(each) for each in listed]
        for name in sorted({each for each in told if told.count(each) > 1}) if len(set(told)) < len(told) else ():
            yield f"the {what} '{name}' twice"
