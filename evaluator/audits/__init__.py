"""What a text-only model can tell about a benchmark: if it beats chance, a vision-language model need not look
either."""
