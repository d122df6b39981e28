"""Pictures of the embeddings of a benchmark's captions and images (Pearson et al. 2025, figure 6)."""
