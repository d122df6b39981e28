"""Rewards for reinforcement learning (docs/descriptions.md, "Rewards").

The functions are those of `generator/dataset/descriptions/rewards.py`, which `gen export rl` copies
beside its questions.
"""

from generator.dataset.descriptions.rewards import (
    AttributeTruth,
    ChoiceTruth,
    CountTruth,
    Record,
    Reward,
    attribute_reward,
    choice_reward,
    count_reward,
    description_reward,
    to_record,
)
from generator.dataset.descriptions.tasks import answer_reward, gold_answer

__all__ = [
    "AttributeTruth",
    "ChoiceTruth",
    "CountTruth",
    "Record",
    "Reward",
    "answer_reward",
    "attribute_reward",
    "choice_reward",
    "count_reward",
    "description_reward",
    "gold_answer",
    "to_record",
]
