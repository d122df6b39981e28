"""Tests of exports."""

collect_ignore = ["trl_training.py"]
"""A program that test_trainers.py runs in an environment with TRL; pytest would import it here, to
look for examples."""
