"""Another organization's clients, and what they wait: alone, and beside whatever a bench does to the server meanwhile.

Eight connections for each kind of request ask ten times a second each, not in step; or one asks again when it was answered. They are wrk's, which takes next to nothing itself: clients of Python
would wait for each other, and their own waiting would hide what the server's others do."""
import concurrent.futures
import re
import signal
import statistics
import subprocess
import time

KINDS = {
    "update": """return wrk.format("POST", path .. "/" .. ids[n % #ids + 1], headers, string.format('{"' .. field .. '":"N %d"}', n))""",
    "retrieve": """return wrk.format("GET", path .. "/" .. ids[n % #ids + 1], headers)""",
    "list": """return wrk.format("GET", path .. "?limit=20", headers)""",
}
# At the end each latency, with how often it was.
PACED = "function delay() return 90 + math.random(20) end"
SCRIPT = """local path, field, ids, n = "{path}", "{field}", {{{ids}}}, math.random(0, 7)
local headers = {{["SVC-API-KEY"] = "{key}", ["Content-Type"] = "application/json"}}
function request() n = n + 1 {what} end
{pace}
function done(summary, latency)
  for i = 1, #latency do local us, count = latency(i) io.write(string.format("L %d %d\\n", us, count)) end
  io.write(string.format("E %d\\n", summary.errors.status + summary.errors.read + summary.errors.timeout))
end"""


def _latencies(out):
    """Milliseconds of each request, from what a script's done() wrote."""
    assert re.search(r"^E 0$", out, re.M), out
    return [int(us) / 1000 for us, count in re.findall(r"^L (\d+) (\d+)", out, re.M) for _ in range(int(count))]


def p99(values):
    return statistics.quantiles(values, n=100)[98]


def beside(name, idle, busy):
    print(f"{name}: idle p50 {statistics.median(idle):.1f} ms, p99 {p99(idle):.1f} ms ({len(idle)}); beside p50 {statistics.median(busy):.1f} ms, p99 {p99(busy):.1f} ms"
          f" ({len(busy)}), {p99(busy) / p99(idle):.2f} times", flush=True)


def script(file, path, field, ids, key, kind, pace=""):
    file.write_text(SCRIPT.format(path=path, field=field, ids=",".join(f'"{id}"' for id in ids), key=key, what=KINDS[kind], pace=pace))


def one_by_one(server, key, path, field, id, folder, seconds=1):
    """Updates of one record, the next one when the last is answered: milliseconds of each."""
    script(folder / "one.lua", path, field, [id], key, "update")
    out = subprocess.run(["wrk", "-t1", "-c1", f"-d{seconds}s", "-s", folder / "one.lua", server.base], stdout=subprocess.PIPE, text=True, check=True).stdout
    return _latencies(out)


class Others:
    """They update (one text field), retrieve and list what is at `path`: the records of `ids`. Scripts go to `folder`, a Path."""

    def __init__(self, server, key, path, field, ids, folder):
        self.server, self.folder = server, folder
        for kind in KINDS:
            script(folder / f"{kind}.lua", path, field, ids, key, kind, PACED)

    def _ask(self, kind, seconds, stop):
        p = subprocess.Popen(["wrk", "-t1", "-c8", f"-d{seconds}s", "--timeout", "60s", "-s", self.folder / f"{kind}.lua", self.server.base], stdout=subprocess.PIPE, text=True)
        while p.poll() is None and not stop():
            time.sleep(0.05)
        if p.poll() is None:
            p.send_signal(signal.SIGINT)  # it tells what it has
        return _latencies(p.communicate()[0])

    def ask(self, seconds, stop=lambda: False):
        """For so long, or until stop(): milliseconds of each request, by kind."""
        with concurrent.futures.ThreadPoolExecutor(len(KINDS)) as pool:
            return dict(zip(KINDS, pool.map(lambda kind: self._ask(kind, seconds, stop), KINDS)))


def tell(idle, busy):
    """Prints a line for each kind, and one for all requests together. Returns how many times the p99 of all was that of idle."""
    for kind in idle:
        beside(kind, idle[kind], busy[kind])
    alone, beside_it = (sum((found[kind] for kind in KINDS), []) for found in (idle, busy))
    beside("all three", alone, beside_it)
    return p99(beside_it) / p99(alone)
