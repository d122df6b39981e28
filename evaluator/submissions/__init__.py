"""Submissions to a leaderboard: write and check them, ask models again, challenge them, and make
the board (docs/leaderboard.md)."""
