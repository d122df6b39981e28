"""Names of models: a spec may hold "=" itself."""

import pytest

from evaluator.models.arguments import name_and_spec


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("frozen=open_clip:a@b", ("frozen", "open_clip:a@b")),
        ("frozen=diffusion:sd@fixed,samples=4", ("frozen", "diffusion:sd@fixed,samples=4")),
        ("diffusion:sd@fixed,samples=4", ("diffusion:sd@fixed,samples=4", "diffusion:sd@fixed,samples=4")),
    ],
)
def test_a_name_stands_before_the_family(given: str, expected: tuple[str, str]) -> None:
    assert name_and_spec(given) == expected
