"""Captions made from a true one so as to mislead: forms only, whose truth is decided elsewhere."""

from dataclasses import dataclass

from generator.language.form import Form, Mention


@dataclass(frozen=True)
class Foil:
    """A changed form, and what was changed: one "kind:old>new" for each atom, prefixed by the object's place."""

    form: Form
    changed: tuple[str, ...]


def swap_attribute(form: Form, kind: str) -> Foil:
    """Exchange the values of one attribute kind between the two objects of a form."""
    first, second = form.objects
    a, b = dict(first.attributes)[kind], dict(second.attributes)[kind]
    changed = (f"0:{kind}:{a}>{b}", f"1:{kind}:{b}>{a}")
    return Foil(Form((_with(first, kind, b), _with(second, kind, a))), changed)


def _with(mention: Mention, kind: str, value: str) -> Mention:
    return Mention(mention.category, tuple((k, value if k == kind else v) for k, v in mention.attributes))
