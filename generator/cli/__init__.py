"""The command `gen`: parses options and prints results."""
