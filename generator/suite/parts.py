"""Names of the parts of a suite. Commands need them for their help, so this module imports
nothing."""

FULL, TINY = "full", "tiny"
PARTS = (FULL, TINY)
"""The parts of a suite. `full` is the declaration as it stands; `tiny` is for a first look."""
