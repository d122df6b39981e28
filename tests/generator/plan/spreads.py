"""How even the names of arrangements are."""

from collections import Counter

from generator.holdout.membership import Arrangement


def spreads(arrangements: list[Arrangement]) -> list[int]:
    """By how much the most frequent value, and object, exceeds the least frequent one: at each place, then in all."""
    found = []
    for role in (0, 1):
        everywhere = [binding[role] for arrangement in arrangements for binding in arrangement]
        places = [
            [a[place][role] for a in arrangements if len(a) > place] for place in range(max(map(len, arrangements)))
        ]
        for names in [everywhere, *places]:
            counts = Counter(names)
            missing = len({*everywhere}) - len(counts)
            found.append(max(counts.values()) - (0 if missing else min(counts.values())))
    return found
