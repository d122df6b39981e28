"""What `gen vocab check` asks of a family beyond what it must have: whether people can tell its values and objects apart."""
