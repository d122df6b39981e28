import pytest

from generator.base.errors import UserError
from generator.describe.protocols.registry import protocol_names
from generator.describe.request import Request, check_request, first_request, requested_protocols
from generator.holdout.request import HoldoutRequest
from tests.generator.scenes import HOLDOUT, VOCABULARY


@pytest.mark.parametrize(
    ("request_", "says"),
    [(Request(("binry",)), "did you mean 'binary'"), (Request(template="there-was"), "did you mean 'there-is'")],
)
def test_unknown_protocols_and_templates_are_refused(request_: Request, says: str) -> None:
    with pytest.raises(UserError, match=says):
        check_request(request_)


def test_protocols_come_in_the_order_of_the_registry() -> None:
    assert requested_protocols(Request(("pairs", "binary"))) == ["binary", "pairs"]
    assert requested_protocols(Request()) == list(protocol_names())


def test_protocols_declare_what_a_first_benchmark_asks_of_them() -> None:
    related = HoldoutRequest("bindsplit", ("relation:pair=1x2",), (0,)).holdouts(VOCABULARY)[0]
    assert first_request(HOLDOUT).options["binary"] == {"kinds": ("swap",)}
    assert first_request(related).options["binary"] == {"kinds": ("swap", "flip")}
    assert first_request(HOLDOUT).options["pairs"] == {"fallback_template": "that-is"}
    check_request(first_request(HOLDOUT))
