"""Holdouts: what training never shows (bindings, relation triples, class lists), their designs, and
the splits."""
