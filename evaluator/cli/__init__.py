"""The command `score`: parses options and prints results."""
