"""Families of models behind one registry."""
