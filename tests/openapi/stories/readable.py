"""What changes with each run - ids, times, secrets, links, ports - replaced by what stays, of the same form.

Values that a story chose itself stay as they are.
"""
import datetime
import hashlib
import re

BEGIN = datetime.datetime(2026, 3, 2, 9, 0, tzinfo=datetime.timezone.utc)  # a Monday: when each story begins, for its readers
STEP = datetime.timedelta(seconds=7)  # between two requests of a story, for its readers
LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)")
EPOCH = re.compile(r"(?<![\w.])1[6-9]\d{8}(?!\w)")
NUMBER = re.compile(r"\bWHRF-[0-9A-Z]{7}-[0-9A-Z]{7}\b")  # of shipments, made by the server
UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
# Runs of letters and digits (with what stands for the kind before it), of base64 as in links, and of base64.
SECRET = re.compile(r"(?<![A-Za-z0-9])((?:[a-z]+_)+|)([0-9A-Za-z]{20,}(?![0-9A-Za-z_+-]|/[0-9A-Za-z+/]*=)={0,2}|[0-9A-Za-z_-]{20,}(?![\w+-])={0,2}|(?<![./])[0-9A-Za-z+/]{20,}={0,2})")


def is_random(text):
    """Tells whether a run of letters and digits is one that no person wrote."""
    bare = text.rstrip("=")
    if re.fullmatch(r"[0-9a-f]{32,}", bare):
        return True
    return bool(re.search(r"\d", bare) and re.search(r"[A-Z]", bare) and re.search(r"[a-z]", bare))


def strings(value):
    if isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from strings(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from strings(one)
    elif isinstance(value, str):
        yield value


def as_time(text):
    return datetime.datetime.fromisoformat(re.sub(r"(\.\d{1,6})\d*", r"\1", text.replace("Z", "+00:00")))


def written(time):
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03d}Z"


class Readable:
    def __init__(self, name):
        self.name, self.shown, self.count = name, {}, {}
        self.kept, self.heard, self.made = set(), set(), set()  # what the story chose; what answers said before it did; times of `at`
        self.begin = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
        self.steps = [self.begin]
        self.aliases, self.steady = [], {}

    def alias(self, real, shown):
        """`shown` stands where `real` was: the address of a server, or of a receiver."""
        self.aliases = sorted([*self.aliases, (real, shown)], key=lambda a: -len(a[0]))

    def at(self, **more):
        """A time of the story, as its readers see it: `at(days=1, hours=2)` is after its begin."""
        text = written(self.begin + datetime.timedelta(**more))
        self.made.add(text)
        return text

    def step(self):
        now = datetime.datetime.now(datetime.timezone.utc)
        self.steps.append(now.replace(microsecond=now.microsecond // 1000 * 1000))  # as the server tells times

    def runs(self, value):
        """Texts, and what in them may be of this run only."""
        for text in strings(value):
            yield text
            for pattern in (SECRET, TIME, UUID, NUMBER):
                yield from (m.group(0) for m in pattern.finditer(text))

    def hears(self, value):
        self.heard.update(self.runs(value))

    def sends(self, value):
        """What a request says before any answer did is the story's own choice, and stays."""
        self.kept.update(found for found in self.runs(value) if found not in self.heard and found not in self.made)

    # ---- one kind each ----

    def letters(self, kind, n, alphabet):
        """n letters, always the same for the same kind and number of it."""
        self.count[kind] = self.count.get(kind, 0) + 1
        said = b""
        while len(said) < n:
            said += hashlib.sha256(f"{self.name} {kind} {self.count[kind]} {len(said)}".encode()).digest()
        return "".join(alphabet[b % len(alphabet)] for b in said[:n])

    def time(self, time):
        """The time that the readers see: that of the request that made it; what is far ahead or behind lies as far from it, in whole steps."""
        now = self.steps[-1]
        ahead = time - now
        if datetime.timedelta(0) >= time - datetime.datetime.now(datetime.timezone.utc) and time >= self.begin:
            n = max(i for i, at in enumerate(self.steps) if at <= time)
            return BEGIN + n * STEP + datetime.timedelta(milliseconds=(n * 137 + 41) % 1000)
        whole = 5 if abs(ahead) < datetime.timedelta(minutes=50) else 600
        far = datetime.timedelta(seconds=round(ahead.total_seconds() / whole) * whole)
        return (BEGIN if whole == 600 else BEGIN + (len(self.steps) - 1) * STEP) + far

    def iso(self, text):
        if text in self.kept or "T00:00:00.000" in text:  # a day that the server's own texts name
            return text
        if text not in self.shown:
            self.shown[text] = written(as_time(text) - self.begin + BEGIN if text in self.made else self.time(as_time(text)))
        return self.shown[text]

    def epoch(self, number):
        time = datetime.datetime.fromtimestamp(number, datetime.timezone.utc)
        return int(self.time(time).timestamp()) if abs((time - self.begin).days) < 800 else number

    def uuid(self, text):
        if text in self.kept:
            return text
        if text not in self.shown:
            hex = self.letters("uuid", 32, "0123456789abcdef")
            self.shown[text] = f"{hex[:8]}-{hex[8:12]}-4{hex[13:16]}-8{hex[17:20]}-{hex[20:]}"
        return self.shown[text]

    def number(self, text):
        if text in self.kept:
            return text
        if text not in self.shown:
            made = self.letters("number", 14, LETTERS[:36])
            self.shown[text] = f"WHRF-{made[:7]}-{made[7:]}"
        return self.shown[text]

    def secret(self, match):
        text, head, tail = match.group(0), match.group(1), match.group(2)
        if text in self.kept or not is_random(tail):
            return text
        if text not in self.shown:
            bare = tail.rstrip("=")
            hex = re.fullmatch(r"[0-9a-f]+", bare)
            first = "0" if len(bare) == 22 else ""
            self.shown[text] = head + first + self.letters(head or len(bare), len(bare) - len(first), LETTERS[:10] + "abcdef" if hex else LETTERS) + tail[len(bare):]
        return self.shown[text]

    def text(self, text):
        for real, shown in self.aliases:
            text = text.replace(real, shown)
        if text in self.kept:
            return text
        text = TIME.sub(lambda m: self.iso(m.group(0)), text)
        text = UUID.sub(lambda m: self.uuid(m.group(0)), text)
        text = NUMBER.sub(lambda m: self.number(m.group(0)), text)
        text = EPOCH.sub(lambda m: str(self.epoch(int(m.group(0)))), text)
        return SECRET.sub(self.secret, text)

    def __call__(self, value, key=None):
        """The value as readers see it."""
        if key in self.steady and value is not None:
            return self.steady[key]
        if isinstance(value, dict):
            return {self.text(k): self(v, k) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self(v) for v in value]
        if key == "last4" and isinstance(value, str):
            return next((shown[-4:] for real, shown in self.shown.items() if real.endswith(value)), self.letters("last4", 4, LETTERS))
        if isinstance(value, int) and not isinstance(value, bool) and EPOCH.fullmatch(str(value)):
            return self.epoch(value)
        return self.text(value) if isinstance(value, str) else value
