"""Checks training positives: each says its caption otherwise, in the way that is listed."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from generator.judge.benchmark import Benchmark
from generator.judge.files import labels, places
from generator.judge.findings import Finding, finding
from generator.judge.held_out import HeldOut
from generator.judge.meaning import Link, Meaning, Thing

_KINDS = ("swap", "replace", "converse")
Told = tuple[Thing, str, Thing, bool]
"""A relation with what it relates."""


def positive_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Training positives whose meaning differs from their caption's, or that are listed with another kind or caption."""
    rows, table = benchmark.candidates, benchmark.tables["candidates"]
    origin, kinds = places(table["of"], benchmark.tables["texts"]["text_id"]), labels(table["kind"])
    told = table["kind"].null_count < len(table)  # tables made elsewhere may lack the column
    captions = np.flatnonzero(rows.truth & (rows.slot == "c"))
    caption_of = {(int(rows.item[row]), int(rows.text[row])) for row in captions.tolist()}
    for row in np.flatnonzero(benchmark.positives & (rows.text >= 0)).tolist():
        item, text, of = int(rows.item[row]), int(rows.text[row]), int(origin[row])
        if of < 0 or (item, of) not in caption_of:
            fault: str | None = "the text that it says otherwise is no caption of its item"
        elif benchmark.listed(row, "changed"):
            fault = "it is true, and is listed with changes"
        elif (caption := benchmark.meanings[of]) is None or (positive := benchmark.meanings[text]) is None:
            continue  # which text_findings names
        else:
            possible = (kinds[row],) if told else _KINDS
            faults = [_fault(kind, caption, positive, text == of, benchmark.held_out) for kind in possible]
            fault = faults[0] if all(faults) else None
        if fault:
            yield finding("wrong positive", f"item {benchmark.item_id(item)}: '{benchmark.text(text)}': {fault}")


def _fault(kind: str | None, caption: Meaning, positive: Meaning, same_words: bool, held_out: HeldOut) -> str | None:
    """Why a text is no positive of its kind; None if it is one."""
    if kind == "replace":
        right = not same_words and caption == positive
    elif kind == "swap":
        right = not caption.links and caption.things != positive.things and _same(caption, positive, held_out)
    elif kind == "converse":
        changed = Counter(_told(caption)) - Counter(_told(positive))
        right = sum(changed.values()) == 1 and _same(caption, positive, held_out)
    else:
        return f"its kind of positive is '{kind}'"
    return None if right else f"it is listed as '{kind}', and its words say something else"


def _same(one: Meaning, other: Meaning, held_out: HeldOut) -> bool:
    """Whether two texts mean the same but for the order of mention and the ends from which relations are said."""
    if (one.denied, one.environment) != (other.denied, other.environment):
        return False
    facts = [Counter(frozenset((told, _turned(told, held_out))) for told in _told(each)) for each in (one, other)]
    return Counter(one.things) == Counter(other.things) and facts[0] == facts[1]


def _told(meaning: Meaning) -> list[Told]:
    return [_ends(meaning, link) for link in meaning.links]


def _ends(meaning: Meaning, link: Link) -> Told:
    subject, name, thing, holds = link
    return meaning.things[subject], name, meaning.things[thing], holds


def _turned(told: Told, held_out: HeldOut) -> Told:
    """The same relation said from its other end."""
    subject, name, thing, holds = told
    return thing, held_out.converses.get(name, name), subject, holds
