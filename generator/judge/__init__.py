"""Verifies datasets independently: reads only their files, without the code that plans, splits or
writes captions."""
