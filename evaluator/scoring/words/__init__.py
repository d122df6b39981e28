"""Ask models that answer in words, and read their answers."""
