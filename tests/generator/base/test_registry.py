"""Objects by name: loaded when asked for, registered once, and unknown names told."""

import sys

import pytest

from generator.base.errors import UserError
from generator.base.registry import Registry


def numbers() -> Registry[float]:
    return Registry("number", {"pi": "math:pi", "tau": "math:tau"})


def test_names_stand_in_the_order_of_their_registration_and_each_finds_its_object() -> None:
    known = numbers()
    known.register("e", "math:e")
    assert known.names() == ("pi", "tau", "e")
    assert known.find("e") == pytest.approx(2.718281828)


def test_an_unknown_name_is_refused_with_the_nearest_or_with_all() -> None:
    with pytest.raises(UserError, match=r"^Unknown number 'taus'; did you mean 'tau'\?$"):
        numbers().find("taus")
    with pytest.raises(UserError, match=r"^Unknown number 'zzz'; expected one of: pi, tau\.$"):
        numbers().find("zzz")


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="The number 'pi' is already registered as math:pi"):
        numbers().register("pi", "math:e")


def test_a_module_is_loaded_when_its_object_is_first_asked_for() -> None:
    sys.modules.pop("this", None)
    Registry("poem", {"zen": "this:s"})
    assert "this" not in sys.modules
