"""`gen export rl`: questions and rewards for reinforcement learning (docs/rewards.md).

`questions` makes the questions of a benchmark, `formats` has the columns of each trainer, and
`export` writes the folder, with the reward functions that answers are judged by.
"""
