"""The registry: every protocol is there by its own name, and others are refused."""

import pytest

from evaluator.protocols.protocol import Protocol
from evaluator.protocols.registry import PROTOCOLS, load_protocol
from generator.dataset.errors import UserError


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_protocol_is_registered_by_its_own_name(name: str) -> None:
    protocol = load_protocol(name)
    assert isinstance(protocol, Protocol)
    assert protocol.name == name


def test_an_unknown_protocol_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UserError, match="Unknown protocol 'integratio': did you mean 'integration'"):
        load_protocol("integratio")
