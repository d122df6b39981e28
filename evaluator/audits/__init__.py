"""Audits of benchmarks: whether a text-only model beats chance, so that no model needs the image;
and figures of what models embed and draw."""
