"""Checks false candidates: which text each was made from, what was changed, and the kind of foil that it is."""

from collections.abc import Iterator
from itertools import zip_longest

import numpy as np

from generator.judge.benchmark import Benchmark, values
from generator.judge.files import labels, places
from generator.judge.findings import Finding, finding
from generator.judge.held_out import HeldOut
from generator.judge.meaning import Meaning, Thing
from generator.judge.protocols import FORMS

Change = tuple[str, str, str, str]
"""Place, kind, old and new of an atom: ("0", "color", "red", "blue"), or ("0-1", "relation", "left", "right")."""

_SINGLE = {"atom", "replace", "matched", "object", "attribute", "relation"}  # foils in which one atom is replaced
_NAMED_BY_CHANGE = {("gzsl", "two-object"), ("gzsl", "three-object")}
_RELATION = "relation"


def foil_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """False candidates of a known protocol whose columns `of`, `changed` or `kind` their words do not bear out."""
    rows, table = benchmark.candidates, benchmark.tables["candidates"]
    sound = (rows.item >= 0) & (rows.text >= 0) & (rows.scene >= 0)
    own_scene = rows.item * max(len(benchmark.scene_ids), 1) + rows.scene
    true = sound & rows.truth
    listed_as_true = set(zip(own_scene[true].tolist(), rows.text[true].tolist(), strict=True))
    again = true & (rows.slot == "p")
    rephrased = dict(zip(rows.item[again].tolist(), rows.text[again].tolist(), strict=True))
    told = table["kind"].null_count < len(table)  # tables made elsewhere may lack the column
    tested = (benchmark.held_out.kind, benchmark.held_out.category)
    origin, made = places(table["of"], benchmark.tables["texts"]["text_id"]), table["of"].is_valid().to_numpy()
    judged = sound & ~benchmark.positives & np.append(benchmark.known_items, False)[rows.item]  # item -1 is none
    columns = (judged, rows.truth, made, rows.item, rows.text, origin, own_scene, rows.slot, labels(table["kind"]))
    each_row = zip(*(column.tolist() for column in columns), values(table["changed"]), strict=True)
    for row, (known, truth, is_made, item, text, of, scene, slot, kind, listed) in enumerate(each_row):
        if not known:
            continue
        if truth:
            if kind is not None or listed or is_made:
                yield _found(benchmark, row, "it is true, and is listed as a foil of another text")
            continue
        asked = (benchmark.protocols[item], benchmark.kinds[item])
        form = FORMS.get(asked)
        if form is None:  # which form_findings names
            continue
        if told and kind not in form.foils and not (asked in _NAMED_BY_CHANGE and kind in tested):
            yield _found(benchmark, row, f"its kind of foil is '{kind}', which its item cannot have")
            continue
        if of < 0 or (scene, of) not in listed_as_true:
            yield _found(benchmark, row, "the text that it was made from is no true text of its item")
            continue
        base = benchmark.meanings[rephrased.get(item, of) if kind == "matched" else of]
        foil = benchmark.meanings[text]
        if base is None or foil is None:  # which text_findings names
            continue
        skill = benchmark.skills[item] if asked[0] == "skill" else None
        possible = [kind] if told else sorted(form.foils, key=str)
        faults = [_fault(benchmark, item, each, skill, base, foil, slot, listed or []) for each in possible]
        if all(faults):
            yield _found(benchmark, row, str(faults[0]))


def _found(benchmark: Benchmark, row: int, fault: str) -> Finding:
    rows = benchmark.candidates
    text = benchmark.text(rows.text[row]) if rows.text[row] >= 0 else ""
    return finding("wrong foil", f"item {benchmark.item_id(rows.item[row])}: '{text}': {fault}")


def _fault(
    benchmark: Benchmark,
    item: int,
    kind: str | None,
    skill: str | None,
    base: Meaning,
    foil: Meaning,
    slot: str,
    listed: list[str],
) -> str | None:
    """Why a foil is not of its kind, or was not changed as listed; None if all is as listed."""
    held_out, protocol = benchmark.held_out, benchmark.protocols[item]
    ends = kind == "order" or (protocol, benchmark.kinds[item]) == ("pairs", "relation")
    told = _exchanged_ends(base, foil) if ends else _changes(base, foil, kind, held_out)
    if told is None:
        return f"its words differ from '{kind or 'a foil'}' of the text that it was made from"
    if not _of_kind(told, kind, skill, protocol, held_out, foil):
        return f"it is listed as '{kind}' and changes {_words(told)}"
    given = set(listed)
    if protocol == "gzsl":
        due = {str(kind)}
    else:
        due = {f"{place}:{name}:{old}>{new}" if name else f"{place}:{old}" for place, name, old, new in told}
        if slot.startswith("d"):  # the places are those of the composed caption
            due, given = ({each.partition(":")[2] for each in some} for some in (due, given))
    if given != due or len(listed) != len(due):
        return f"it is listed as changed by {', '.join(listed) or 'nothing'}, its words by {', '.join(sorted(due)) or 'nothing'}"
    return None


def _changes(base: Meaning, foil: Meaning, kind: str | None, held_out: HeldOut) -> list[Change] | None:
    """What was changed from one meaning to the other; None if the kind of foil cannot have made it."""
    if kind == "neg":
        return _denied(base, foil, held_out)
    if kind == "comp":
        return _split(base, foil, held_out)
    if kind in ("distractor", "label"):
        return []
    return _replaced(base, foil, held_out)


def _exchanged_ends(base: Meaning, foil: Meaning) -> list[Change] | None:
    if len(base.things) != 2 or len(base.links) != 1 or foil != base._replace(things=base.things[::-1]):
        return None
    s, _, o, _ = base.links[0]
    return [(f"{s}-{o}", "", "order", "")]


def _replaced(base: Meaning, foil: Meaning, held_out: HeldOut) -> list[Change] | None:
    """Atoms replaced or exchanged, in a foil of as many objects and relations."""
    same = (len(base.things), len(base.links), base.denied, base.environment)
    if same != (len(foil.things), len(foil.links), foil.denied, foil.environment):
        return None
    found: list[Change] = []
    for place, (old, new) in enumerate(zip(base.things, foil.things, strict=True)):
        if old == new:
            continue
        if (old.number, old.without) != (new.number, new.without):
            return None
        found += _differences(str(place), old, new, held_out.category)
    for one, other in zip(base.links, foil.links, strict=True):
        if (one[0], one[2], one[3]) != (other[0], other[2], other[3]):
            return None
        if one[1] != other[1]:
            found.append((f"{one[0]}-{one[2]}", _RELATION, one[1], other[1]))
    return found


def _differences(place: str, old: Thing, new: Thing, category: str) -> Iterator[Change]:
    if old.category != new.category:
        yield place, category, str(old.category), str(new.category)
    before, after = dict(old.attributes), dict(new.attributes)
    for kind in sorted({*before, *after}):
        if before.get(kind) != after.get(kind):
            yield place, kind, before.get(kind, ""), after.get(kind, "")


def _denied(base: Meaning, foil: Meaning, held_out: HeldOut) -> list[Change] | None:
    """Atoms that one text asserts and the other denies."""
    if base.denied != foil.denied:
        return [("caption", "", "denied", "")] if base == foil._replace(denied=base.denied) else None
    if (len(base.things), len(base.links), base.environment) != (len(foil.things), len(foil.links), foil.environment):
        return None
    found: list[Change] = []
    for n, (old, new) in enumerate(zip(base.things, foil.things, strict=True)):
        if old != new:
            for denied, asserted, forward in ((old, new, True), (new, old, False)):
                atom = _denial(denied, asserted, held_out.category)
                if atom is not None:
                    kind, value = atom
                    both = (f"not {value}", value) if forward else (value, f"not {value}")
                    found.append((str(n), kind, *both))
                    break
            else:
                return None
    for n, (one, other) in enumerate(zip(base.links, foil.links, strict=True)):
        if one[:3] != other[:3]:
            return None
        if one[3] != other[3]:
            both = (one[1], f"not {one[1]}") if one[3] else (f"not {one[1]}", one[1])
            found.append((str(n), _RELATION, *both))
    return found


def _denial(denied: Thing, asserted: Thing, category: str) -> tuple[str, str] | None:
    """The (kind, value) that one mention denies and the other asserts; None if they differ otherwise."""
    if denied._replace(number=asserted.number) == asserted and (denied.number, asserted.number) == (0, 1):
        return category, str(denied.category)
    if denied.without is None or asserted.without is not None:
        return None
    said = Thing(denied.category, tuple(sorted((*denied.attributes, denied.without))), None, denied.number)
    return denied.without if said == asserted._replace(attributes=tuple(sorted(asserted.attributes))) else None


def _split(base: Meaning, foil: Meaning, held_out: HeldOut) -> list[Change] | None:
    """A compound split over two objects, each completed by a false atom: "a pink car" → "a blue car and a pink toy"."""
    if base.links:
        return _split_relation(base, foil, held_out)
    if len(foil.things) != len(base.things) + 1:
        return None
    place = next(n for n, (old, new) in enumerate(zip_longest(base.things, foil.things)) if old != new)
    if place >= len(base.things):
        return None
    old, new, second = base.things[place], foil.things[place], foil.things[place + 1]
    changed = list(_differences(str(place), old, new, held_out.category))
    if base.things[place + 1 :] != foil.things[place + 2 :] or len(changed) != 1 or changed[0][1] == held_out.category:
        return None
    _, kind, true, _ = changed[0]
    if second != Thing(second.category, ((kind, true),)) or second.category is None:
        return None
    return [*changed, (str(place), held_out.category, str(old.category), second.category)]


def _split_relation(base: Meaning, foil: Meaning, held_out: HeldOut) -> list[Change] | None:
    """A relation split over two, each with one atom replaced: "a ship is on the water and a boat is on rubber"."""
    n = len(base.things)
    if (len(base.links), len(foil.links), len(foil.things)) != (1, 2, 2 * n) or foil.denied or foil.environment:
        return None
    (s, name, o, holds) = foil.links[1]
    parts = (
        foil._replace(things=foil.things[:n], links=foil.links[:1]),
        foil._replace(things=foil.things[n:], links=((s - n, name, o - n, holds),)),
    )
    found = [_replaced(base, part, held_out) for part in parts]
    if any(changes is None or len(changes) != 1 for changes in found):
        return None
    (first,), (second,) = (changes or [] for changes in found)
    named = all(old and new for _, _, old, new in (first, second))  # an attribute that is added is none of its atoms
    return [first, second] if named and first[:2] != second[:2] else None


def _of_kind(
    told: list[Change], kind: str | None, skill: str | None, protocol: str, held_out: HeldOut, foil: Meaning
) -> bool:
    """Whether changes are those of a kind of foil."""
    if protocol == "confusion":
        return kind == _repeats(foil)
    if kind in ("order", "neg", "comp"):
        return bool(told)
    if kind in ("distractor", "label"):
        return True
    if kind is None or kind == "swap":  # what is exchanged stays the same in sum
        exchanged = (sorted((name, old) for _, name, old, _ in told), sorted((name, new) for _, name, _, new in told))
        return bool(told) and (exchanged[0] == exchanged[1] or told[0][1] == "")
    if len(told) != 1:
        return False
    (_, name, old, new) = told[0]
    if kind == "flip":
        return name == _RELATION and held_out.opposites.get(old) == new
    if kind in ("object", "attribute", _RELATION):
        atom = "object" if name == held_out.category else name if name == _RELATION else "attribute"
        return atom == kind and skill in (None, kind)
    return kind in _SINGLE or name == kind  # gzsl names a hard negative after what differs


def _repeats(foil: Meaning) -> str:
    """Which slots of an assignment of two values and two categories repeat."""
    first, second = foil.things
    names = {(False, False): "none", (True, False): "attribute", (False, True): "category", (True, True): "both"}
    return names[first.attributes == second.attributes, first.category == second.category]


def _words(told: list[Change]) -> str:
    return ", ".join(f"{name or old} {old}>{new}" if name else old for _, name, old, new in told) or "nothing"
