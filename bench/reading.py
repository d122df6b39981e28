"""Reading answers in words: the time is linear in their length, whatever they say."""

from time import process_time

from bench.figures import Figure, repeated
from generator.dataset.answer_reader import LONGEST, read_choice, read_yes_no

CAPTIONS = (
    "There is a red cube left of a blue sphere.",
    "There is a blue cube left of a red sphere.",
)
HOSTILE = (
    "a_",
    "is yes'",
    "\\boxed{",
    "answer: ",
    "A ",
    "(A",
    "<think>",
    "A\n",
    "so A. ",
    "not ",
    "A, ",
    "wait, no. ",
    "if A ",
    "There is a red ",
)
"""Parts that made regular expressions slow when they were repeated."""


def figures() -> list[Figure]:
    """How much longer an answer of 2n characters takes than one of n, for the slowest part; and its
    time."""
    return [
        repeated("reading an answer of twice the length", "times as long", _largest_ratio),
        repeated(
            f"reading a hostile answer of {LONGEST:,} characters",
            "s",
            lambda: max(map(_time, HOSTILE)),
        ),
    ]


def _largest_ratio() -> float:
    return max(_time(part, LONGEST) / _time(part, LONGEST // 2) for part in HOSTILE)


def _time(part: str, length: int = LONGEST) -> float:
    """The processor time of both readers, in seconds, which other processes change little."""
    # To the character: the readers have a limit, and a ratio needs exact lengths.
    answer = (part * (length // len(part) + 1))[:length]
    start = process_time()
    read_choice(answer, "stop", "AB", CAPTIONS)
    read_yes_no(answer, "stop")
    return process_time() - start
