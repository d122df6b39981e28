"""Make worlds in which chosen combinations never occur, and texts about them that are proven true
or false."""
