"""Verifies datasets independently: reads only their files and shares no code with the code that made them."""
