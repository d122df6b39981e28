"""Writes the relations of a form as sentences, one after the other (docs/language.md, Words)."""

from generator.language.form import Link
from generator.language.phrases import FormPhrases, capital, join


def there_is(phrases: FormPhrases, text: str, first: int, *, also: bool) -> str:
    """A sentence without its full stop: "There is a cube", "There are also two cubes".

    Args:
        phrases: the phrases of the form.
        text: what there is.
        first: the place of its first mention, whose count decides the verb.
        also: whether another such sentence came before.
    """
    verb = "are" if phrases.form.objects[first].count > 1 else "is"
    return f"There {verb} also {text}" if also else f"There {verb} {text}"


class Clauses:
    """Writes the relations one after the other; introduces objects in the order of the form.

    A relation of the same subject as the one before joins its sentence with "and": "A cube is left
    of a cone and behind it." Other relations begin a sentence. An object that no relation
    introduces has a sentence "There is …".
    """

    def __init__(self, phrases: FormPhrases, introduced: int = 0, that: bool = False):
        """Begin without sentences.

        Args:
            phrases: the phrases of the form.
            introduced: the number of mentions that the text has introduced before.
            that: whether a sentence about a new subject begins with "There is a cube that is …".
        """
        self._phrases = phrases
        self._that = that
        self._introduced = introduced
        self._sentences: list[str] = []
        """The sentences so far, without full stops."""
        self._joins_to: int | None = None
        """The subject of the last sentence if another relation may join it, else None."""
        self._head = ""
        """The last sentence up to "is"."""
        self._steps: list[str] = []
        """The relations of the last sentence, with their objects."""

    def write(self) -> str:
        """Write all sentences of the form."""
        form = self._phrases.form
        for k, link in enumerate(form.relations):
            self._introduce_before(link)
            self._relate(k, link)
        self._introduce(len(form.objects))
        return " ".join(f"{sentence}." for sentence in self._sentences)

    def _introduce_before(self, link: Link) -> None:
        """Introduce the objects that the form mentions before the objects of this relation."""
        introduces_both = link.subject >= self._introduced and link.object == link.subject + 1
        if introduces_both:
            self._introduce(link.subject)
        else:
            self._introduce(max(link.subject, link.object))

    def _introduce(self, until: int) -> None:
        """Introduce the mentions before the place `until` by sentences of their own."""
        for i in range(self._introduced, until):
            text = self._phrases.indefinite(i)
            sentence = there_is(self._phrases, text, i, also=bool(self._sentences))
            self._sentences.append(sentence)
            # The sentence that another relation may join is no longer the last.
            self._joins_to = None
        self._introduced = max(self._introduced, until)

    def _relate(self, k: int, link: Link) -> None:
        """Write relation k: join it to the last sentence, or begin a new one."""
        phrases = self._phrases
        object_is_new = link.object >= self._introduced
        before = None
        if self._joins_to == link.subject:
            before = phrases.form.relations[k - 1]
        # After a denied relation, "and behind it" could be denied too.
        if before is not None and (before.holds or not link.holds):
            same_object = before.ends[1:] == link.ends[1:] and not link.also
            if same_object:
                self._steps.append(phrases.step(k, "it"))
            else:
                self._steps.append(phrases.step_to(k, self._introduced))
            self._sentences[-1] = f"{self._head} {join(self._steps)}"
        else:
            self._head = f"{self._subject(link.subject)} is"
            self._steps = [phrases.step_to(k, self._introduced)]
            self._sentences.append(f"{self._head} {self._steps[0]}")
        last_named = max(link.subject, link.object)
        self._introduced = max(self._introduced, last_named + 1)
        # After "… a cone that is not red", a joined relation would seem to be denied of the cone.
        ends_with_denial = object_is_new and bool(phrases.form.objects[link.object].without)
        self._joins_to = None if ends_with_denial else link.subject

    def _subject(self, i: int) -> str:
        """Mention i at the beginning of a sentence, up to "is"."""
        phrases = self._phrases
        is_new = i >= self._introduced
        # "There is a cube that is not red that is left of …" would be hard to read.
        if self._that and is_new and not phrases.form.objects[i].without:
            introduction = there_is(phrases, phrases.indefinite(i), i, also=bool(self._sentences))
            return f"{introduction} that"
        return capital(phrases.end(i, introduced=not is_new))
