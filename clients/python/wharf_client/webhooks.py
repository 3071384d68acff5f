"""Verification of deliveries (Standard Webhooks): the signature over id, time and body, and the age of the time."""
import base64
import hashlib
import hmac
import json
import time
from typing import Any, Iterable, Mapping, Optional, Union


class WebhookError(Exception):
    pass


def _key(secret: str) -> bytes:
    if not secret.startswith("whsec_"):
        raise WebhookError("a secret begins with whsec_")
    return base64.b64decode(secret[6:])


def verify_webhook(secret: Union[str, Iterable[str]], headers: Mapping[str, str], body: bytes, tolerance: int = 300, now: Optional[float] = None) -> dict[str, Any]:
    """Returns the event of a delivery; raises WebhookError when it is not from the server.

    body: the request's body as it came, before any parser. While secrets are changed, give both. tolerance: how old or new a
    delivery may be, in seconds."""
    told = {name.lower(): value for name, value in headers.items()}
    missing = [name for name in ("webhook-id", "webhook-timestamp", "webhook-signature") if not told.get(name)]
    if missing:
        raise WebhookError(f"a header is missing: {', '.join(missing)}")
    at = told["webhook-timestamp"]
    if not at.isascii() or not at.isdigit() or abs((time.time() if now is None else now) - int(at)) > tolerance:
        raise WebhookError("the delivery is too old, or a clock is wrong")
    signed = f"{told['webhook-id']}.{at}.".encode() + body
    for one in [secret] if isinstance(secret, str) else secret:
        right = base64.b64encode(hmac.new(_key(one), signed, hashlib.sha256).digest()).decode()
        for entry in told["webhook-signature"].split(" "):
            version, _, signature = entry.partition(",")
            if version == "v1" and hmac.compare_digest(signature.encode(), right.encode()):
                event: dict[str, Any] = json.loads(body)
                return event
    raise WebhookError("no signature is of this secret")
