"""What all operations share: the request, tries, idempotency keys, pages and errors. Types and signatures are generated (api.py)."""
import random
import time
import uuid
from typing import Any, Callable, Generic, Iterator, Mapping, Optional, ParamSpec, TypedDict, TypeVar, Union
from urllib.parse import quote

import requests

R = TypeVar("R")
P = ParamSpec("P")

# A filter with operators: {"gte": "2026-01-01T00:00:00Z"}
Operators = Mapping[str, Union[str, int, float, bool, list[str]]]
RETRIED = {429, 502, 503, 504}


class Pagination(TypedDict, total=False):
    page: Optional[int]
    limit: int
    has_more: bool
    total_count: int
    next_cursor: Optional[str]


class Page(list[R], Generic[R]):
    """The rows of one page of a list. pagination: empty for lists that have no pages."""

    pagination: Pagination

    def __init__(self, rows: list[R], pagination: Optional[Pagination]) -> None:
        super().__init__(rows)
        self.pagination = pagination or {}


class WharfError(Exception):
    """An answer that is no success: `code` says what is wrong, `errors` where."""

    def __init__(self, operation: str, status: int, code: str, message: str, errors: list[str], request_id: Optional[str], retry_after: Optional[int]) -> None:
        super().__init__(f"{operation}: {status} {code}: {message}" + (f" ({', '.join(errors)})" if errors else ""))
        self.operation, self.status, self.code, self.message = operation, status, code, message
        self.errors, self.request_id, self.retry_after = errors, request_id, retry_after


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(map(_written, value))
    return str(value)


def _query(query: Mapping[str, Any]) -> list[tuple[str, str]]:
    pairs = []
    for name, value in query.items():
        if isinstance(value, Mapping):
            pairs += [(f"{name}[{operator}]", _written(operand)) for operator, operand in value.items()]
        elif value is not None:
            pairs.append((name, _written(value)))
    return pairs


def _seconds(answer: Optional[requests.Response]) -> Optional[int]:
    told = answer.headers.get("Retry-After", "") if answer is not None else ""
    return int(told) if told.isdigit() and int(told) > 0 else None


class Client:
    """Calls operations of the server at base_url, with a key. retries: how many times a request is sent again that failed on the way, or that
    the server could not take; timeout: seconds for one answer; sleep: waits between two tries."""

    def __init__(self, base_url: str, key: str, retries: int = 3, timeout: float = 60, sleep: Callable[[float], None] = time.sleep) -> None:
        self.base_url, self.retries, self.timeout, self.sleep = base_url.rstrip("/"), retries, timeout, sleep
        self.session = requests.Session()
        self.session.headers["SVC-API-KEY"] = key

    def each(self, operation: "Callable[P, Page[R]]", *args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
        """Walks all rows of a list: `for contact in wharf.each(wharf.list_contacts, search="Ann")`."""
        cursor: Optional[str] = "start"
        while cursor:
            kwargs["cursor"] = cursor
            page = operation(*args, **kwargs)
            yield from page
            cursor = page.pagination.get("next_cursor")

    def call(self, name: str, method: str, path: str, in_path: Mapping[str, str], query: Mapping[str, Any], body: Any,
             headers: Optional[Mapping[str, str]], kind: Optional[str], plain: bool, keyed: bool) -> Any:
        """Sends a request until it is answered, or until `retries` are used up. A write has one Idempotency-Key in all tries: it is done once.

        name: of the operation; in_path and query: by name; kind: the media type of a body that is not JSON; plain: the answer is bytes;
        keyed: it takes an Idempotency-Key. A write without such a key, or with a body that is not JSON, is sent once. Raises WharfError when the server refuses, and the error of `requests` when it can't be reached."""
        for key, value in in_path.items():
            if not value:
                raise ValueError(f"{key} is needed")
            path = path.replace("{" + key + "}", quote(str(value), safe=""))
        keyed = keyed and not kind
        retries = self.retries if keyed or method == "GET" else 0
        sent = {"Idempotency-Key": str(uuid.uuid4())} if keyed else {}
        sent.update(headers or {})
        if kind:
            sent["Content-Type"] = kind
        content: dict[str, Any] = {} if body is None else {"data": body} if kind else {"json": body}
        n = 0
        while True:
            answer: Optional[requests.Response] = None
            try:
                answer = self.session.request(method, self.base_url + path, params=_query(query), headers=sent, timeout=self.timeout, **content)
            except (requests.ConnectionError, requests.Timeout):
                if n >= retries:
                    raise
            if answer is not None and answer.ok:
                return self._data(answer, plain)
            if answer is not None and (answer.status_code not in RETRIED or n >= retries):
                raise self._refusal(name, answer)
            self.sleep(_seconds(answer) or min(8, 0.25 * 2 ** n) * random.uniform(0.5, 1))
            n += 1

    @staticmethod
    def _data(answer: requests.Response, plain: bool) -> Any:
        if plain:
            return answer.content
        if answer.status_code == 204:
            return None
        body = answer.json()
        return Page(body["data"], body["pagination"]) if isinstance(body["data"], list) else body["data"]

    @staticmethod
    def _refusal(name: str, answer: requests.Response) -> WharfError:
        try:
            body = answer.json()
        except ValueError:
            body = {}
        return WharfError(name, answer.status_code, body.get("code") or "unknown", body.get("message") or answer.reason or "", body.get("errors") or [],
                          answer.headers.get("Request-Id"), _seconds(answer))
