"""Every module has a test file that a reader finds by its name: generator/plan/record.py is tested by tests/generator/plan/test_record.py."""

from pathlib import Path

import pytest

from tests.paths import CHECKOUT

MODULES = sorted(
    path.relative_to(CHECKOUT)
    for package in ("generator", "evaluator")
    for path in (CHECKOUT / package).rglob("*.py")
    if path.name != "__init__.py" and "_data" not in path.parts
)


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_has_a_test_file_of_its_name(module: Path) -> None:
    expected = Path("tests") / module.with_name(f"test_{module.name}")
    assert (CHECKOUT / expected).is_file(), f"{module} has no {expected}"
