"""Probes of dual encoders: whether images, texts or their alignment lose attributes, objects or
their binding."""
