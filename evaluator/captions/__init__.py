"""How captions are read: their noun phrases, and the bindings that these name."""
