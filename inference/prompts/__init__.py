"""Prompts: templates as data, what they may see, and how they become messages.

Templates lie in ``templates/<name>/<version>/<response kind>.jinja`` (or ``any.jinja``); each fills the blocks
``system`` and ``user``. A changed text is another template, found by its hash; a version is a name for people.
"""

from inference.prompts.rendering import (
    Message,
    PromptTemplate,
    TemplateError,
    asks_for,
    load_template,
    messages_json,
    render,
)
from inference.prompts.views import BankViews, ExemplarView, ItemView, OptionView, PromptView, ReferenceView

__all__ = [
    "BankViews",
    "ExemplarView",
    "ItemView",
    "Message",
    "OptionView",
    "PromptTemplate",
    "PromptView",
    "ReferenceView",
    "TemplateError",
    "asks_for",
    "load_template",
    "messages_json",
    "render",
]
