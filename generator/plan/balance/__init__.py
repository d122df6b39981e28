"""Choices that make values, objects and places equally frequent."""
