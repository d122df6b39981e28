"""Familiarity: which bindings of a benchmark's captions a reference corpus has shown (BindSplit,
sections 3.3 and 5, appendix B)."""
