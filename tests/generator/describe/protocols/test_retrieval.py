from generator.base.streams import Stream
from generator.describe.protocols.two_objects import POOL, Retrieval
from tests.generator.scenes import captioner, described, scene_of


def test_scenes_of_two_objects_have_two_true_captions_of_the_pool() -> None:
    language = captioner()
    protocol = Retrieval(language)
    two = described(scene_of(("cube", {"color": "red"}), ("cone", {"color": "blue"})))
    (item,) = protocol.items(two, Stream(0))
    pool = set(protocol.pools()[POOL])
    assert item.pool == POOL
    assert len(pool) == 7392
    assert {candidate.text for candidate in item.candidates} <= pool
    assert [two.decide(text.form) for text in pool].count(True) == 2


def test_other_scenes_are_dropped() -> None:
    language = captioner()
    protocol = Retrieval(language)
    for scene in (
        scene_of(("cube", {}), ("cone", {}), ("torus", {})),
        scene_of(("cube", {"color": "red"}), ("cone", {"color": "red"})),
    ):
        assert not list(protocol.items(described(scene), Stream(0)))
    assert language.dropped == {"retrieval": 2}
