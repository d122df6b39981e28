"""What a world can hold: attribute kinds and their values, objects, relations, stage. Read from TOML."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import BaseModel, Field, ValidationError, model_validator
