"""The one error of the notebook room: a sentence that says what is wrong with a document and what to do.

It holds no logic; readers, writers and the file functions raise it.
"""

from __future__ import annotations


class NotebookError(ValueError):
    """A document could not be read or written. Its text is a sentence to show to the user as it is."""
