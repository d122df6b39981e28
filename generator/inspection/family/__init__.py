"""What `gen vocab check` finds: words, colours and outlines that people could not tell apart."""
