"""Turns forms into text (docs/language.md, Words): a template says which phrases of a form follow
one another, and the grammar adds the environment."""

from generator.language.form import VIEWS, Form
from generator.language.phrases import FormPhrases, NounPhrases, Wording, capital
from generator.language.templates import INTRODUCE_IN_STEPS, NATURAL, templates_of
from generator.vocabulary.relations import GROUND
from generator.vocabulary.schema import Vocabulary


class Grammar(NounPhrases):
    """Turns forms into text with the words of one vocabulary.

    >>> from generator.language.form import Link, Mention
    >>> from generator.vocabulary.schema import read_vocabulary
    >>> grammar = Grammar(read_vocabulary("clevr"))
    >>> cubes = Form((Mention("cube", (("color", "red"),)), Mention("arch")), (Link(0, "left", 1),))
    >>> grammar.realise(cubes, "clauses")
    'A red cube is to the left of an arch.'
    """

    def __init__(self, vocabulary: Vocabulary):
        super().__init__(vocabulary)
        self.all_templates = templates_of(vocabulary)
        """The templates of the grammar and of the family, by name."""
        self.natural = (*NATURAL, *vocabulary.drawn_templates)
        """Templates to draw from when no template is requested."""

    def templates(self, form: Form) -> tuple[str, ...]:
        """Names of all templates that can say a form."""
        return tuple(name for name in self.all_templates if self.fits(name, form))

    def fits(self, template: str, form: Form) -> bool:
        """Whether a template can say a form."""
        if template in INTRODUCE_IN_STEPS and self._denial_before_frame(form):
            return False
        return self.all_templates[template].fits(form)

    def _denial_before_frame(self, form: Form) -> bool:
        """Whether a relation goes on after an object that denies something: "a lion that is not red
        from the lion's own point of view" has two readings."""
        for link in form.relations:
            goes_on = GROUND in self.vocabulary.relations[link.relation].phrase
            ends = (link.object, *link.also)
            denies_something = any(form.objects[end].without for end in ends)
            if goes_on and denies_something:
                return True
        return False

    def realise(self, form: Form, template: str, wording: Wording = ()) -> str:
        """Write the text of a form.

        Args:
            form: the meaning.
            template: the name of a template that fits the form.
            wording: synonyms that replace the usual words.

        Returns:
            The text. The environment, if the form has one, comes first in a sentence, and last in a
            phrase.
        """
        if form.view is not None:
            categories = [mention.category for mention in form.objects]
            return VIEWS[form.view].format(*categories)
        phrases = FormPhrases(self, form, wording)
        text = self.all_templates[template].write(phrases)
        if form.environment is None:
            return text
        where = self.vocabulary.environments[form.environment].phrase
        if not text.endswith("."):
            return f"{text} {where}"
        if template == "this-photo":
            # "In a kitchen, this is a photo of …" would place the photo in the kitchen.
            return f"{text[:-1]} {where}."
        return f"{capital(where)}, {text[0].lower()}{text[1:]}"
