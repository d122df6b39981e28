"""The columns that each trainer reads.

Every format has the question, the image's bytes, the record by which an answer is judged, and
columns that name it and say how difficult it is. The reward function that a trainer loads is a
program in this folder.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from generator.exports.rl.questions import RewardedQuestion

Row = dict[str, Any]
"""One row: a value by column."""

_STRING = pa.string()
_INT32 = pa.int32()
_MESSAGES = pa.list_(pa.struct([("role", _STRING), ("content", _STRING)]))
# A list of images. Older versions of verl pass every key beside `bytes` on to a library that does
# not know it, so only TRL gets `path`, which the class Image of `datasets` has.
_IMAGES_WITHOUT_PATH = pa.list_(pa.struct([("bytes", pa.binary())]))
_IMAGES_WITH_PATH = pa.list_(pa.struct([("bytes", pa.binary()), ("path", _STRING)]))
_IMAGE_FEATURES = {
    "info": {"features": {"images": {"feature": {"_type": "Image"}, "_type": "List"}}}
}
"""Tells the library `datasets` that the column `images` has images; in the files of TRL alone. verl
and EasyR1 decode bytes themselves, and may run with versions of `datasets` that do not know this
form."""
_LABEL_TYPES = {
    "id": _STRING,
    "task": _STRING,
    "split": _STRING,
    "scene_id": _STRING,
    "objects": _INT32,
    "interference": _INT32,
    "load": _INT32,
}
_IMAGE_PLACEHOLDER = "<image>\n"
"""Where verl and EasyR1 put the image into the words. TRL and verifiers take images apart."""


@dataclass(frozen=True, kw_only=True)
class Format:
    """What a trainer reads."""

    schema: pa.Schema
    """The columns."""
    row: Callable[[RewardedQuestion, bytes, str], Row]
    """Makes a row of a question, the PNG of its image, and the name of the export."""
    programs: Mapping[str, str]
    """By path in the export, the file of this folder that is written there. PACKAGE stands for the
    name of the export. `.jinja` files are filled in, `.txt` files are copied."""
    data: str
    """Folder of the Parquet files in the export; PACKAGE as in `programs`."""


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
    # As text, since a column has one type and records of different tasks have different keys.
    return json.dumps(question.record, separators=(",", ":"))


def _verl_row(question: RewardedQuestion, png: bytes, name: str) -> Row:
    # verl averages validation rewards over each data_source, so each task and split has its own.
    source = f"{name}/{question.task}/{question.split}"
    return {
        "data_source": source,
        "prompt": [{"role": "user", "content": _IMAGE_PLACEHOLDER + question.prompt}],
        "images": [{"bytes": png}],
        "ability": question.task,
        "reward_model": {"style": "rule", "ground_truth": _record_of(question)},
        "extra_info": _labels_of(question),
    }


def _easyr1_row(question: RewardedQuestion, png: bytes, name: str) -> Row:
    return {
        "images": [{"bytes": png}],
        "problem": _IMAGE_PLACEHOLDER + question.prompt,
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
        schema=pa.schema(
            {"prompt": _STRING, "image": pa.binary(), "truth": _STRING, **_LABEL_TYPES}
        ),
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
                "data_source": _STRING,
                "prompt": _MESSAGES,
                "images": _IMAGES_WITHOUT_PATH,
                "ability": _STRING,
                "reward_model": pa.struct([("style", _STRING), ("ground_truth", _STRING)]),
                "extra_info": pa.struct(list(_LABEL_TYPES.items())),
            }
        ),
        row=_verl_row,
        programs={"reward.py": "verl_reward.py.txt"},
        data=".",
    ),
    "easyr1": Format(
        schema=pa.schema(
            {"images": _IMAGES_WITHOUT_PATH, "problem": _STRING, "answer": _STRING, **_LABEL_TYPES}
        ),
        row=_easyr1_row,
        programs={"reward.py": "easyr1_reward.py.txt"},
        data=".",
    ),
    "trl": Format(
        schema=pa.schema(
            {"prompt": _MESSAGES, "images": _IMAGES_WITH_PATH, "truth": _STRING, **_LABEL_TYPES},
            metadata={"huggingface": json.dumps(_IMAGE_FEATURES)},
        ),
        row=_trl_row,
        programs={"reward_funcs.py": "trl_reward_funcs.py.txt"},
        data=".",
    ),
}
"""The formats, by the value of --format."""
