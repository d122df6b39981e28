"""Decides whether a text is true, false or undecided of a scene (docs/language.md, "Truth")."""

from collections.abc import Iterator

from generator.judge.geometry import Decided, SceneGeometry
from generator.judge.meaning import Link, Meaning

Tie = tuple[tuple[int, ...], list, list]
"""A relation between mentions: (indices of the mentions, fitting second objects by first, fitting
first objects by second). With three mentions: (indices, fitting third objects by first and second,
an empty list)."""
Partners = list[list[tuple[int, list]]]
"""For each mention and each of its relations of two: the other mention, and its possible objects by
own object."""


def decide(meaning: Meaning, shown: SceneGeometry) -> bool | None:
    """Whether a text is true of a scene; None if undecided."""
    truth = _stated(meaning, shown)
    if meaning.environment is not None:
        truth = _both(
            truth, None if shown.environment is None else meaning.environment == shown.environment
        )
    return truth if not meaning.denied or truth is None else not truth


def _both(first: bool | None, second: bool | None) -> bool | None:
    if first is False or second is False:
        return False
    return None if first is None or second is None else True


def _stated(meaning: Meaning, shown: SceneGeometry) -> bool | None:
    """Rules 3 to 5: the objects and relations of a text, without its environment and without denial
    of the whole."""
    fitting = [shown.fitting(thing) for thing in meaning.things]
    counts = [thing.number for thing in meaning.things]
    if all(count == 1 for count in counts):
        return _singles(fitting, meaning.links, shown)
    for i, count in enumerate(counts):
        if count > 1 and any(fitting[i] & other for j, other in enumerate(fitting) if j != i):
            return None
    places = {i: n for n, i in enumerate(i for i, count in enumerate(counts) if count == 1)}
    links = tuple(
        (places[s], name, places[o], holds, *map(places.__getitem__, also))
        for s, name, o, holds, *also in meaning.links
    )
    truth = _singles([fitting[i] for i in places], links, shown)
    for mask, count in zip(fitting, counts, strict=True):
        if count != 1:
            truth = _both(truth, _counted(mask.bit_count(), count))
    return truth


def _counted(found: int, count: int) -> bool | None:
    """Rule 5: "no cube" or "two cubes" when `found` objects fit. Undecided if count ≥ 2 and found >
    count."""
    if found == count:
        return True
    return None if count and found > count else False


def _singles(fitting: list[int], links: tuple[Link, ...], shown: SceneGeometry) -> bool | None:
    """Rules 3 and 4: mentions of single objects and their relations, in both readings of "not"."""
    if not links:
        return _matching(fitting)
    first = _assigned(fitting, links, shown)
    if all(link[3] for link in links):
        return first
    uses = [place for s, _, o, _, *also in links for place in (s, o, *also)]
    none_of = [
        link for link in links if not link[3] and len(link) == 4 and uses.count(link[2]) == 1
    ]
    if not none_of:
        return first
    return first if _second_reading(fitting, links, none_of, shown) is first else None


def _second_reading(
    fitting: list[int], links: tuple[Link, ...], none_of: list[Link], shown: SceneGeometry
) -> bool | None:
    """Rule 4: "not left of a cube" read as "left of no cube"; the cube then needs no assignment."""
    sure, open_ = list(fitting), list(fitting)
    for s, name, o, *_ in none_of:
        meaning = shown.decided(name, True)
        for i in _bits(fitting[s]):
            if meaning.open[i] & fitting[o]:
                sure[s] &= ~(1 << i)
            if meaning.sure[i] & fitting[o]:
                open_[s] &= ~(1 << i)
    unassigned = {link[2] for link in none_of}
    places = {i: n for n, i in enumerate(i for i in range(len(fitting)) if i not in unassigned)}
    others = [link for link in links if link not in none_of]
    decided = [shown.decided(link[1], link[3]) for link in others]
    ends = [tuple(map(places.__getitem__, _ends(link))) for link in others]
    if not _possible([open_[i] for i in places], _open(ends, decided)):
        return False
    return True if _possible([sure[i] for i in places], _sure(ends, decided)) else None


def _ends(link: Link) -> tuple[int, ...]:
    subject, _, thing, _, *also = link
    return subject, thing, *also


def _assigned(fitting: list[int], links: tuple[Link, ...], shown: SceneGeometry) -> bool | None:
    """Rule 3: whether some assignment of different, fitting objects makes every relation true."""
    decided = [shown.decided(link[1], link[3]) for link in links]
    ends = [_ends(link) for link in links]
    if not _possible(fitting, _open(ends, decided)):
        return False
    if all(each.sure == each.open for each in decided) or _possible(fitting, _sure(ends, decided)):
        return True
    return None


def _open(ends: list[tuple[int, ...]], decided: list[Decided]) -> list[Tie]:
    return [(places, each.open, each.open_of) for places, each in zip(ends, decided, strict=True)]


def _sure(ends: list[tuple[int, ...]], decided: list[Decided]) -> list[Tie]:
    return [(places, each.sure, each.sure_of) for places, each in zip(ends, decided, strict=True)]


# Assignment of different objects to mentions. A set of objects is an integer with one bit per
# object.


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _matching(domains: list[int]) -> bool:
    """Whether the mentions can be assigned distinct objects of their domains (augmenting paths)."""
    if len(domains) == 2:
        first, second = domains
        return bool(first and second and (first | second).bit_count() > 1)
    owner: dict[int, int] = {}
    return all(_placed(domains, owner, mention, [0]) for mention in range(len(domains)))


def _placed(domains: list[int], owner: dict[int, int], mention: int, tried: list[int]) -> bool:
    """Whether a mention can be assigned an object that no other has. Earlier mentions are
    reassigned if needed."""
    for i in _bits(domains[mention]):
        if not tried[0] >> i & 1:
            tried[0] |= 1 << i
            if i not in owner or _placed(domains, owner, owner[i], tried):
                owner[i] = mention
                return True
    return False


def _possible(domains: list[int], ties: list[Tie]) -> bool:
    """Whether the mentions can be assigned distinct objects of their domains such that every
    relation fits."""
    if not _matching(domains):
        return False
    if len(domains) == 2 and len(ties) == 1:
        (s, o), second_by_first, _ = ties[0]
        return any(second_by_first[i] & domains[o] for i in _bits(domains[s]))
    partners: Partners = [[] for _ in domains]
    of_three = [tie for tie in ties if len(tie[0]) == 3]
    for (s, o, *also), second_by_first, first_by_second in ties:
        if not also:
            partners[s].append((o, second_by_first))
            partners[o].append((s, first_by_second))
    return _search(
        list(domains), {place for ends, _, _ in ties for place in ends}, partners, of_three
    )


def _search(domains: list[int], left: set[int], partners: Partners, of_three: list[Tie]) -> bool:
    """Assign the remaining mentions, the smallest domain first. Each choice narrows the other
    domains.

    Relations of three are decided after all mentions are assigned.
    """
    if not left:
        chosen = [mask.bit_length() - 1 for mask in domains]
        return all(
            third[chosen[s]][chosen[o]] & domains[a] for (s, o, a), third, _ in of_three
        ) and _matching(domains)
    mention = min(left, key=lambda place: domains[place].bit_count())
    rest = left - {mention}
    for i in _bits(domains[mention]):
        narrowed = [mask & ~(1 << i) for mask in domains]
        narrowed[mention] = 1 << i
        for other, suiting in partners[mention]:
            narrowed[other] &= suiting[i]
        if all(narrowed) and _matching(narrowed) and _search(narrowed, rest, partners, of_three):
            return True
    return False
