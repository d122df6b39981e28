"""Render a world: plan, workers, journal, tables. Continues where an earlier run stopped."""

import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from generator.vocabulary import Vocabulary, parse_vocabulary
