"""The statements of one request of the server, as PostgreSQL wrote them into its log, as a script of pgbench.

`Recorder.script` sends a request twice and makes a script of what the session of the first did between BEGIN and COMMIT: the same texts, prepared,
with the same values. What must differ from run to run becomes SQL of the script's variables: ids that are others the second time, and what the caller
names in `varied`. Other sessions do more for the request later (processing of events, the request log): that is work of the server's alone.
"""
import re
import time

BASE62_ID = re.compile(r"\b([a-z]+(?:_[a-z]+)?)_([0-9A-Za-z]{22})\b")
LINE = re.compile(r"^\S+ \S+ \S+ \[(\d+)\] (LOG|DETAIL):  (.*)$", re.S)
EXECUTED = re.compile(r"(?:execute \S+|statement): (.*)", re.S)
PARAMETER = re.compile(r"\$(\d+) = (NULL|'(?:[^']|'')*')(?:, |$)", re.S)
SETTINGS = {"log_statement": "'all'", "log_parameter_max_length": "-1"}


def entries(text):
    """[(process, kind, text)] of a log; lines that go on belong to the one before."""
    found = []
    for line in text.split("\n"):
        m = LINE.match(line)
        if m:
            found.append([m.group(1), m.group(2), m.group(3)])
        elif found:
            found[-1][2] += "\n" + line
    return found


def statements(text, about):
    """[(SQL, {number: value or None})] of the session whose statements have `about` among their values."""
    sessions = {}
    for process, kind, said in entries(text):
        list_ = sessions.setdefault(process, [])
        executed = EXECUTED.match(said)
        if kind == "LOG" and executed:
            list_.append([executed.group(1), {}])
        elif kind == "DETAIL" and said.startswith("parameters: ") and list_:
            list_[-1][1] = {int(n): None if v == "NULL" else v[1:-1].replace("''", "'") for n, v in PARAMETER.findall(said[len("parameters: "):])}
    done = [s for s in sessions.values() if any(about in str(v) for _, values in s for v in values.values()) and any(sql.startswith("BEGIN") for sql, _ in s)]
    assert len(done) == 1, f"{len(done)} sessions wrote {about}"
    begin = max(i for i, (sql, _) in enumerate(done[0]) if sql.startswith("BEGIN"))
    return done[0][begin:]


def ids_in(found):
    """The ids among the values, each once, in their order."""
    return list(dict.fromkeys(m.group() for _, values in found for value in values.values() for m in BASE62_ID.finditer(value or "")))


def literal(text):
    """A text as SQL in which pgbench finds no variable of its own: it looks for colons, also within quotes."""
    return "E'" + text.replace("\\", "\\\\").replace("'", "''").replace(":", "\\072") + "'"


class Recorder:
    """varied: {text of the request that is recorded: SQL that stands for it in the script}."""

    def __init__(self, rows, log):
        self.rows, self.log = rows, log

    def recorded(self, send, about):
        for setting, value in SETTINGS.items():
            self.rows.sql(f"ALTER SYSTEM SET {setting} = {value}")
        self.rows.sql("SELECT pg_reload_conf()")
        time.sleep(1)
        at = self.log.stat().st_size
        send()
        time.sleep(1)
        for setting in SETTINGS:
            self.rows.sql(f"ALTER SYSTEM RESET {setting}")
        self.rows.sql("SELECT pg_reload_conf()")
        time.sleep(1)
        with open(self.log, "rb") as f:
            f.seek(at)
            return statements(f.read().decode(), about)

    def script(self, send, about, varied, head, pipeline=False):
        """head: lines that set the variables of `varied`, and :a, a random number of 12 digits, of which ids are made."""
        known, out = dict(varied), [head]
        found, again = self.recorded(send, about), ids_in(self.recorded(send, about))
        for n, id in enumerate(i for i in ids_in(found) if i not in again and i not in varied):
            known[id] = f"'{id[:-22]}' || lpad(:a::text, 12, '0') || lpad(:client_id::text, 4, '0') || '{n:06}'"
        pattern = re.compile("|".join(re.escape(k) for k in sorted(known, key=len, reverse=True)) or "(?!)")
        if pipeline:
            out.append("\\startpipeline")
        for sql, values in found:
            sql = re.sub(r"\$(\d+)", lambda m: self.value(values.get(int(m.group(1))), pattern, known), sql)  # noqa: B023
            out.append(sql.rstrip("; \n") + ";")
        if pipeline:
            out.append("\\endpipeline")
        return "\n".join(out) + "\n", len(found)

    @staticmethod
    def value(text, pattern, known):
        if text is None:
            return "NULL"
        parts, at = [], 0
        for m in pattern.finditer(text):
            parts += [literal(text[at:m.start()])] * (m.start() > at) + [f"({known[m.group()]})"]
            at = m.end()
        parts += [literal(text[at:])] * (at < len(text) or not parts)
        return parts[0] if len(parts) == 1 else "(" + " || ".join(parts) + ")"
