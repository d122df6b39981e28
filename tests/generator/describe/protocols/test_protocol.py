from generator.describe.protocol import Protocol
from generator.describe.protocols.registry import find_protocol, protocol_names


def test_every_protocol_declares_what_the_base_class_asks_for() -> None:
    for name in protocol_names():
        protocol = find_protocol(name)
        assert issubclass(protocol, Protocol)
        assert protocol.name == name
        assert protocol.needs
