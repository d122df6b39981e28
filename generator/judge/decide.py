"""Whether what a text says is true of a scene: true, false, or undecided (docs/language.md, "Truth")."""

from collections.abc import Iterator

from generator.judge.geometry import Decided, Masks, Shown
from generator.judge.meaning import Link, Said

Tie = tuple[int, int, Masks, Masks]
"""Two mentions that a relation ties: the objects that suit the second by object of the first, and the other way round."""


def decide(said: Said, shown: Shown) -> bool | None:
    """Whether a text is true of a scene; None where it is undecided."""
    truth = _stated(said, shown)
    if said.environment is not None:
        truth = _both(truth, None if shown.environment is None else said.environment == shown.environment)
    return truth if not said.denied or truth is None else not truth


def _both(first: bool | None, second: bool | None) -> bool | None:
    if first is False or second is False:
        return False
    return None if first is None or second is None else True


def _stated(said: Said, shown: Shown) -> bool | None:
    """Rules 3 to 5: what is said of objects, without environment and denial of the whole."""
    fitting = [shown.fitting(thing) for thing in said.things]
    counts = [thing.number for thing in said.things]
    if all(count == 1 for count in counts):
        return _singles(fitting, said.links, shown)
    for i, count in enumerate(counts):
        if count > 1 and any(fitting[i] & other for j, other in enumerate(fitting) if j != i):
            return None
    places = {i: n for n, i in enumerate(i for i, count in enumerate(counts) if count == 1)}
    links = tuple((places[s], name, places[o], holds) for s, name, o, holds in said.links)
    truth = _singles([fitting[i] for i in places], links, shown)
    for mask, count in zip(fitting, counts, strict=True):
        if count != 1:
            truth = _both(truth, _counted(mask.bit_count(), count))
    return truth


def _counted(found: int, count: int) -> bool | None:
    """Rule 5: "no cube" or "two cubes" where `found` fit; more than said leave a count of two or more undecided."""
    if found == count:
        return True
    return None if count and found > count else False


def _singles(fitting: list[int], links: tuple[Link, ...], shown: Shown) -> bool | None:
    """Rules 3 and 4: single mentions and their relations, in both readings of "not"."""
    if not links:
        return _matching(fitting)
    first = _assigned(fitting, links, shown)
    if all(holds for _, _, _, holds in links):
        return first
    uses = [place for s, _, o, _ in links for place in (s, o)]
    none_of = [link for link in links if not link[3] and uses.count(link[2]) == 1]
    if not none_of:
        return first
    return first if _second_reading(fitting, links, none_of, shown) is first else None


def _second_reading(fitting: list[int], links: tuple[Link, ...], none_of: list[Link], shown: Shown) -> bool | None:
    """Rule 4: nothing that fits the object of a denied relation stands in it, so that this object needs no assignment."""
    sure, open_ = list(fitting), list(fitting)
    for s, name, o, _ in none_of:
        said = shown.decided(name, True)
        for i in _bits(fitting[s]):
            if said.open[i] & fitting[o]:
                sure[s] &= ~(1 << i)
            if said.sure[i] & fitting[o]:
                open_[s] &= ~(1 << i)
    unassigned = {o for _, _, o, _ in none_of}
    places = {i: n for n, i in enumerate(i for i in range(len(fitting)) if i not in unassigned)}
    others = [link for link in links if link not in none_of]
    decided = [shown.decided(name, holds) for _, name, _, holds in others]
    ends = [(places[s], places[o]) for s, _, o, _ in others]
    if not _possible([open_[i] for i in places], _open(ends, decided)):
        return False
    return True if _possible([sure[i] for i in places], _sure(ends, decided)) else None


def _assigned(fitting: list[int], links: tuple[Link, ...], shown: Shown) -> bool | None:
    """Rule 3: whether different fitting objects make every relation true."""
    decided = [shown.decided(name, holds) for _, name, _, holds in links]
    ends = [(s, o) for s, _, o, _ in links]
    if not _possible(fitting, _open(ends, decided)):
        return False
    if all(each.sure == each.open for each in decided) or _possible(fitting, _sure(ends, decided)):
        return True
    return None


def _open(ends: list[tuple[int, int]], decided: list[Decided]) -> list[Tie]:
    return [(s, o, each.open, each.open_of) for (s, o), each in zip(ends, decided, strict=True)]


def _sure(ends: list[tuple[int, int]], decided: list[Decided]) -> list[Tie]:
    return [(s, o, each.sure, each.sure_of) for (s, o), each in zip(ends, decided, strict=True)]


# Assignment of different objects to mentions, objects being bits.


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _matching(domains: list[int]) -> bool:
    """Whether the mentions can have different objects of their domains (augmenting paths)."""
    if len(domains) == 2:
        first, second = domains
        return bool(first and second and (first | second).bit_count() > 1)
    owner: dict[int, int] = {}

    def place(mention: int, tried: list[int]) -> bool:
        for i in _bits(domains[mention]):
            if not tried[0] >> i & 1:
                tried[0] |= 1 << i
                if i not in owner or place(owner[i], tried):
                    owner[i] = mention
                    return True
        return False

    return all(place(mention, [0]) for mention in range(len(domains)))


def _possible(domains: list[int], ties: list[Tie]) -> bool:
    """Whether the mentions can have different objects of their domains that suit every tie."""
    if not _matching(domains):
        return False
    if len(domains) == 2 and len(ties) == 1:
        s, o, second_by_first, _ = ties[0]
        return any(second_by_first[i] & domains[o] for i in _bits(domains[s]))
    partners: list[list[tuple[int, Masks]]] = [[] for _ in domains]
    for s, o, second_by_first, first_by_second in ties:
        partners[s].append((o, second_by_first))
        partners[o].append((s, first_by_second))
    return _search(list(domains), {place for place, tied in enumerate(partners) if tied}, partners)


def _search(domains: list[int], left: set[int], partners: list[list[tuple[int, Masks]]]) -> bool:
    """Assign the mentions that are left, the one with fewest objects first; each choice narrows the others."""
    if not left:
        return _matching(domains)
    mention = min(left, key=lambda place: domains[place].bit_count())
    rest = left - {mention}
    for i in _bits(domains[mention]):
        narrowed = [mask & ~(1 << i) for mask in domains]
        narrowed[mention] = 1 << i
        for other, suiting in partners[mention]:
            narrowed[other] &= suiting[i]
        if all(narrowed) and _matching(narrowed) and _search(narrowed, rest, partners):
            return True
    return False
