"""The tasks that mteb is asked with: `gen export mteb` declares them, and `score export mteb` names
them in results.

`pairs` are two images and two captions, as in Winoground. `binary` and `steps` are one image with a
true and a false caption, as in SugarCrepe.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class MtebTask:
    """How a protocol is asked in mteb."""

    protocol: str
    """The protocol of the items."""
    images: tuple[str, ...]
    """Columns of the images; the true text of each is the one at its place."""
    texts: tuple[str, ...]
    """Columns of the texts."""
    main_score: str
    """mteb's main score: `accuracy` (all images and texts of an item are matched), or `text_acc`
    (the text of each image)."""
    metrics: tuple[tuple[str, str], ...]
    """Each metric of the protocol, and mteb's score that is the same."""


MTEB_TASKS = (
    MtebTask(
        "pairs",
        ("image_0", "image_1"),
        ("caption_0", "caption_1"),
        "accuracy",
        (("text", "text_acc"), ("image", "image_acc"), ("group", "accuracy")),
    ),
    MtebTask("binary", ("image",), ("caption", "foil"), "text_acc", (("accuracy", "text_acc"),)),
    MtebTask("steps", ("image",), ("caption", "foil"), "text_acc", (("accuracy", "text_acc"),)),
)


def task_name(title: str, protocol: str, kind: str) -> str:
    """Return the name of a task, which is that of its class.

    Args:
        title: Title of the dataset.
        protocol: The protocol.
        kind: Kind of its items.

    Example:
        >>> task_name("Small world 3x3", "steps", "contrast 0.25")
        'SmallWorld3x3StepsContrast0_25'
    """
    words = re.split(r"[^A-Za-z0-9.]+", f"{title} {protocol} {kind}".replace("_", " "))
    # Not str.capitalize, which would make the other letters small.
    capitalized = [word[:1].upper() + word[1:] for word in words]
    name = "".join(capitalized).replace(".", "_")
    # It is the name of a Python class, which begins with a letter.
    return name if name[:1].isalpha() else f"Jackalope{name}"
