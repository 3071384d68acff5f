"""Client of a Wharf server. `Wharf` has a method for each operation of the server (generate.py writes it)."""
from .api import Wharf
from .client import Page, Pagination, WharfError
from .webhooks import WebhookError, verify_webhook

__all__ = ["Page", "Pagination", "WebhookError", "Wharf", "WharfError", "verify_webhook"]
