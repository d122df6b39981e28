"""Measures how fast Jackalope is on this machine. Run `python -m bench`; no test asserts a limit on
these figures."""
