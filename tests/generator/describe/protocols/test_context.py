from dataclasses import replace

from tests.generator.describe.samples import Sample, by_slot, items_of


def test_context_adds_the_environment_and_nothing_else(sampled: list[Sample]) -> None:
    found = items_of(sampled, "context")
    assert len(found) > 50
    for item in found:
        minimal = [by_slot(item, slot)[0] for slot in ("c", "n")]
        contextual = by_slot(item, "context")
        assert [replace(c.text.form, environment=None) for c in contextual] == [c.text.form for c in minimal]
        assert [c.truth for c in contextual] == [True, False]
