"""Checks of `gen vocab check`: words, colours and outlines that people could confuse."""
