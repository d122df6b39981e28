"""Calls code that a user wrote: what it raises becomes one sentence, followed by the lines of the user's own files that led there."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from evaluator.models.memory import out_of_memory
from evaluator.models.state import is_own_file
from generator.base.errors import UserError


@contextmanager
def user_code(spec: str, doing: str) -> Iterator[None]:
    """Context in which code of the model `spec` runs; `doing` says which, such as "encode_texts".

    Raises UserError for whatever the code raises, SystemExit too. A lack of memory is passed on, since batches are halved then.
    """
    try:
        yield
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        if out_of_memory(error):
            raise
        raise UserError(_said(error, spec, doing)) from error


def _said(error: BaseException, spec: str, doing: str) -> str:
    found = traceback.TracebackException.from_exception(error)
    name = type(error).__name__
    if isinstance(error, SyntaxError) and error.filename and is_own_file(error.filename):
        lines = list(found.format_exception_only())
        return f"{doing} of {spec} ended with {lines.pop().strip().removesuffix('.')}; mend it here:\n{''.join(lines).rstrip()}"
    own = [frame for frame in found.stack if is_own_file(frame.filename)]
    what = " ".join(str(error).split())
    ended = f"{doing} of {spec} ended with {name}{f': {what}' if what else ''}".removesuffix(".")
    if not own:
        return f"{ended}; correct what it is given."
    return f"{ended}; mend it here:\n{''.join(traceback.StackSummary.from_list(own).format()).rstrip()}"
