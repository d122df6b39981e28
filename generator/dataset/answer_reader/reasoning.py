"""Cut the reasoning off an answer."""

_TAGS = (
    "think",
    "thinking",
    "thought",
    "thoughts",
    "reasoning",
    "scratchpad",
    "reflection",
    "seed:think",
    "analysis",
)
OPENINGS = (
    *(f"<{tag}>" for tag in _TAGS),
    "◁think▷",
    "[think]",
    "<|begin_of_thought|>",
    "<|start_thinking|>",
    "<|channel|>analysis",
)
"""What begins reasoning, in lower case."""
CLOSINGS = (
    *(f"</{tag}>" for tag in _TAGS),
    "◁/think▷",
    "[/think]",
    "<|end_of_thought|>",
    "<|end_thinking|>",
    "<|channel|>final<|message|>",
    "...done thinking.",
    "assistantfinal",  # gpt-oss after a tokenizer that drops special tokens
)
"""What ends reasoning, in lower case."""


def final_part(answer: str) -> str:
    """Return an answer without its reasoning.

    This is the text after the last closing tag, up to an opening tag. If there is no closing tag,
    it is the text before the first opening tag.

    Args:
        answer: The whole answer.

    Returns:
        A part of the answer, without white space around it.

    Example:
        >>> final_part("It may be A </think> B")
        'B'
    """
    # Tags are found in any case, and places have to stay those of the answer.
    lowered = lower_in_place(answer)
    start = 0
    for tag in CLOSINGS:
        place = lowered.rfind(tag)
        if place >= 0:
            # The last closing tag of any kind: reasoning may quote tags, or come in several parts.
            start = max(start, place + len(tag))
    end = len(answer)
    for tag in OPENINGS:
        place = lowered.find(tag, start)
        if place >= 0:
            # What opens after it is another round of reasoning, even if it is cut off.
            end = min(end, place)
    return answer[start:end].strip()


def lower_in_place(text: str) -> str:
    """Return a text in lower case in which every character keeps its place.

    Args:
        text: Any text.

    Returns:
        A text of the same length. The few capitals with a longer lower-case form stay capitals.

    Example:
        >>> lower_in_place("\\u0130B")
        'İb'
    """
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    characters = []
    for character in text:
        lower = character.lower()
        characters.append(lower if len(lower) == 1 else character)
    return "".join(characters)
