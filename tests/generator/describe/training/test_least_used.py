from collections import Counter

from generator.base.streams import Stream
from generator.language.complexity import LeastUsed


def test_options_are_used_equally_often() -> None:
    used, stream = LeastUsed(), Stream(0)
    found = Counter(used.pick("abc", stream) for _ in range(300))
    assert found == {"a": 100, "b": 100, "c": 100}


def test_a_rare_option_is_used_whenever_it_can_be() -> None:
    used, stream = LeastUsed(), Stream(0)
    picked = [used.pick("ab" if n % 10 else "abz", stream) for n in range(100)]
    assert picked.count("z") == 9  # all but the first time, when nothing was used yet


def test_ties_are_broken_at_random() -> None:
    assert {LeastUsed().pick("abc", Stream(n)) for n in range(30)} == {"a", "b", "c"}
