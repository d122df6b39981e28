"""Where tests find what they read."""

from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
"""The root of the project."""
SHARED = CHECKOUT.parent / "shared"
"""Reference data beside the project, which a clone does not have: tests that need it are skipped
there."""
