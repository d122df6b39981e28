import pytest

from generator.base.errors import UserError
from generator.render.settings import qualities, read_quality


def test_qualities_are_declared_from_the_fastest_to_the_best() -> None:
    assert list(qualities()) == ["draft", "standard", "reference"]
    assert [each.microseconds for each in qualities().values()] == sorted(q.microseconds for q in qualities().values())
    assert read_quality("reference").samples == 512


def test_an_unknown_quality_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UserError, match="Unknown quality 'standart': did you mean 'standard'"):
        read_quality("standart")
