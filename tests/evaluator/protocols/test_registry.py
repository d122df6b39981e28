"""The registry: every protocol is there by its own name, and others are refused."""

import pytest

from evaluator.protocols.registry import find_protocol, protocol_names, register
from evaluator.protocols.results import Protocol
from generator.base.errors import UserError


@pytest.mark.parametrize("name", protocol_names())
def test_every_protocol_is_registered_by_its_own_name(name: str) -> None:
    protocol = find_protocol(name)
    assert isinstance(protocol, Protocol)
    assert protocol.name == name


def test_an_unknown_protocol_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UserError, match="Unknown protocol 'integratio'; did you mean 'integration'"):
        find_protocol("integratio")


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="The protocol 'binary' is already registered"):
        register("binary", "my_package.binary:Binary")
