"""`gen vocab new`: the file is a family, and so is all that it proposes."""

import re
from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.vocabulary.families import shipped_families
from generator.vocabulary.schema import read_vocabulary
from generator.vocabulary.starter import write_starter


@pytest.mark.parametrize("family", sorted(shipped_families()))
def test_a_starter_is_a_family(tmp_path: Path, family: str) -> None:
    out = write_starter(tmp_path / "mine.toml", family)
    mine, base = read_vocabulary(str(out)), read_vocabulary(family)
    assert sum(map(len, mine.attributes.values())) == sum(map(len, base.attributes.values())) + 1
    with pytest.raises(UserError, match="exists; choose another name"):
        write_starter(out, family)


@pytest.mark.parametrize("family", sorted(shipped_families()))
def test_all_that_a_starter_proposes_is_valid(tmp_path: Path, family: str) -> None:
    out, base = write_starter(tmp_path / "mine.toml", family), read_vocabulary(family)
    out.write_text(re.sub(r"^# (?=\[|[a-z]+ = )", "", out.read_text(), flags=re.MULTILINE))
    mine = read_vocabulary(str(out))
    assert mine.attributes.keys() - base.attributes.keys() == (set() if family == "clevr-original" else {"finish"})
    assert mine.objects.keys() - base.objects.keys() == {"spindle"}
    assert len(base.objects.keys() - mine.objects.keys()) == 1
    assert ("near" in mine.relations) == (base.placement.orders == "planned")
    assert len(mine.phrases.keys() - base.phrases.keys()) == (family != "pug")
