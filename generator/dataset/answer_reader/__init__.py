"""Read a model's answer in words: one of the question's labels, a refusal, or nothing readable.

The rule: a label that is denied, excluded, hypothetical or taken back is not the answer. Two labels
that both stand are unread. The first explicit answer counts, and what follows it explains.

The modules, in the order in which an answer passes through them:

1. `reasoning` cuts the reasoning off.
2. `tokens` cuts the rest into words and marks. Words of other languages become the English word of
   the same meaning (`translations`), so that one set of rules serves all languages.
3. `labels` finds the options that words and letters name.
4. `sentences` groups the tokens into sentences and clauses.
5. `choice` (with `label_groups`) and `yes_no` say for each clause which label it states, how
   explicitly, or which label it denies; `turns` and `predicates` judge its words.
6. `standing` keeps the statements that still stand at the end.

Every step takes time linear in the length of the answer.

The package needs only the standard library and imports itself by relative names: `gen export`
copies it beside exported questions, so that every tool reads answers as `score ask` does.
"""

from .reader import CUT_OFF, LONGEST, REFUSED, UNREAD, Reading, read_choice, read_yes_no
from .reasoning import final_part

__all__ = [
    "CUT_OFF",
    "LONGEST",
    "REFUSED",
    "UNREAD",
    "Reading",
    "final_part",
    "read_choice",
    "read_yes_no",
]
