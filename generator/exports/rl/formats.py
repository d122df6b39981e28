"""The columns that each trainer reads.

Every format has the question, the image's bytes, the record by which an answer is judged, and
columns of difficulty. The reward function that a trainer loads is a program in this folder.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from generator.exports.rl.questions import RewardedQuestion

Row = dict[str, Any]
"""A row by column."""

_TEXT = pa.string()
_WHOLE = pa.int32()
_MESSAGES = pa.list_(pa.struct([("role", _TEXT), ("content", _TEXT)]))
# Older versions of verl pass what stands beside `bytes` on to another library.
_BYTES = pa.list_(pa.struct([("bytes", pa.binary())]))
_IMAGES = pa.list_(pa.struct([("bytes", pa.binary()), ("path", _TEXT)]))
_IMAGE_FEATURES = {
    "info": {"features": {"images": {"feature": {"_type": "Image"}, "_type": "List"}}}
}
"""Tells the library `datasets` that the column has images. verl and EasyR1 decode bytes themselves,
and may run with versions of `datasets` that do not know this form."""
_LABELS = {
    "id": _TEXT,
    "task": _TEXT,
    "split": _TEXT,
    "scene_id": _TEXT,
    "objects": _WHOLE,
    "interference": _WHOLE,
    "load": _WHOLE,
}
_IMAGE_PLACE = "<image>\n"
"""Where verl and EasyR1 put the image into the words."""


@dataclass(frozen=True, kw_only=True)
class Format:
    """What a trainer reads."""

    schema: pa.Schema
    """The columns."""
    row: Callable[[RewardedQuestion, bytes, str], Row]
    """Makes a row of a question, the PNG of its image, and the name of the export."""
    programs: Mapping[str, str]
    """By path in the export, the program to write there, a file in this folder. PACKAGE in a path
    stands for the name of the export."""
    data: str
    """Folder of the Parquet files in the export."""


def _labels_of(question: RewardedQuestion) -> Row:
    return {
        "id": question.question_id,
        "task": question.task,
        "split": question.split,
        "scene_id": question.scene_id,
        "objects": question.objects,
        "interference": question.interference,
        "load": question.load,
    }


def _record_of(question: RewardedQuestion) -> str:
    return json.dumps(question.record, separators=(",", ":"))


def _verl_row(question: RewardedQuestion, png: bytes, name: str) -> Row:
    # verl averages validation rewards over each data_source.
    source = f"{name}/{question.task}/{question.split}"
    return {
        "data_source": source,
        "prompt": [{"role": "user", "content": _IMAGE_PLACE + question.prompt}],
        "images": [{"bytes": png}],
        "ability": question.task,
        "reward_model": {"style": "rule", "ground_truth": _record_of(question)},
        "extra_info": _labels_of(question),
    }


def _easyr1_row(question: RewardedQuestion, png: bytes, name: str) -> Row:
    return {
        "images": [{"bytes": png}],
        "problem": _IMAGE_PLACE + question.prompt,
        "answer": _record_of(question),
        **_labels_of(question),
    }


def _trl_row(question: RewardedQuestion, png: bytes, name: str) -> Row:
    return {
        "prompt": [{"role": "user", "content": question.prompt}],
        "images": [{"bytes": png, "path": f"{question.scene_id}.png"}],
        "truth": _record_of(question),
        **_labels_of(question),
    }


def _verifiers_row(question: RewardedQuestion, png: bytes, name: str) -> Row:
    return {
        "prompt": question.prompt,
        "image": png,
        "truth": _record_of(question),
        **_labels_of(question),
    }


FORMATS: dict[str, Format] = {
    "verifiers": Format(
        schema=pa.schema({"prompt": _TEXT, "image": pa.binary(), "truth": _TEXT, **_LABELS}),
        row=_verifiers_row,
        programs={
            "pyproject.toml": "pyproject.toml.jinja",
            "PACKAGE/__init__.py": "verifiers_init.py.txt",
            "PACKAGE/taskset.py": "verifiers_taskset.py.txt",
        },
        data="PACKAGE/data",
    ),
    "verl": Format(
        schema=pa.schema(
            {
                "data_source": _TEXT,
                "prompt": _MESSAGES,
                "images": _BYTES,
                "ability": _TEXT,
                "reward_model": pa.struct([("style", _TEXT), ("ground_truth", _TEXT)]),
                "extra_info": pa.struct(list(_LABELS.items())),
            }
        ),
        row=_verl_row,
        programs={"reward.py": "verl_reward.py.txt"},
        data=".",
    ),
    "easyr1": Format(
        schema=pa.schema({"images": _BYTES, "problem": _TEXT, "answer": _TEXT, **_LABELS}),
        row=_easyr1_row,
        programs={"reward.py": "easyr1_reward.py.txt"},
        data=".",
    ),
    "trl": Format(
        schema=pa.schema(
            {"prompt": _MESSAGES, "images": _IMAGES, "truth": _TEXT, **_LABELS},
            metadata={"huggingface": json.dumps(_IMAGE_FEATURES)},
        ),
        row=_trl_row,
        programs={"reward_funcs.py": "trl_reward_funcs.py.txt"},
        data=".",
    ),
}
"""By name of --format."""
