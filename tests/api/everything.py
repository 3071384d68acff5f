"""A server with every documented setting on that adds work to requests, for sanitizers: WHARF_TEST_EVERYTHING=1 makes all test servers so (wharf.py).

What a test says itself (`--set`) is left as it is: `tls.certificate=` makes a plain server, `blob.driver=dir` one with a folder of files, `mail.url=` one that has no mail server. The hooks let everything
through and change nothing; they are there so that their code runs. Every setting is in here, or in LEFT_OUT with the reason (test_everything.py).
"""
import atexit
import functools
import gzip
import os
import pathlib
import shutil
import tempfile

import certificates
from s3 import Store

ON = bool(os.environ.get("WHARF_TEST_EVERYTHING"))
SECRET = "everything-has-a-secret"

# Limits are judged and never met; each request leaves its lines in all logs.
SETTINGS = {
    "request_log.reads": "true", "log.level": "debug", "cors.origins": "https://app.example", "test_clock": "true",
    "rate_limit.key": "1000000", "rate_limit.key_burst": "1000000", "rate_limit.write": "1000000", "rate_limit.write_burst": "1000000",
    "rate_limit.test": "1000000", "rate_limit.test_burst": "1000000", "rate_limit.organization": "1000000", "rate_limit.organization_burst": "1000000",
    "rate_limit.ip": "1000000", "rate_limit.ip_burst": "1000000", "rate_limit.ip_exempt": "192.0.2.0/24",
    "rate_limit.concurrency": "100000", "http.trusted_proxies": "192.0.2.0/24", "hook_secrets.EVERYTHING": SECRET,
}
# Beside these, by functions below.
OTHERS = ["lua_hooks.dir", "log.access", "tls.certificate", "tls.key", "blob.driver", "blob.s3.endpoint", "blob.s3.bucket", "blob.s3.key", "blob.s3.secret", "mail.url",
          "mail.tls", "mail.from"]

# Why a setting is not in the mode: reason -> settings.
LEFT_OUT = {
    "where things are; the tests' servers say it themselves": [
        "listen", "admin.listen", "data", "database.url", "log.file", "master_key_file", "modules", "module_path", "cell.dir", "crash.dir", "blob.dir", "carriers.file"],
    "another way of the same work, which has tests of its own": [
        "user", "database.direct", "database.prepared", "migrate", "environment", "auth.pepper", "master_key", "blob.s3.region", "blob.s3.direct", "blob.s3.client_endpoint", "safe_mode", "rules.verify",
        "lua_hooks.strict", "crash.quarantine", "notifications.fcm", "notifications.web_push", "stations.push", "stations.fit", "templates.emit_generated", "carriers.tracking_prefix", "documents.extra_categories", "documents.quota_bytes", "documents.clamd", "documents.full_text"],
    "how many processes, threads and connections do the work": [
        "workers", "jobs.workers", "jobs.threads", "jobs.long_threads", "jobs.plugin_share", "database.lanes", "database.pool", "workflows.cells", "workflows.cells_max",
        "net.per_host", "net.transfers"],
    "a limit that is on unless somebody says else": [
        "memory.limit", "drain_timeout", "drain_accept", "http.header_timeout", "http.body_timeout", "http.handler_timeout", "http.long_timeout", "http.body_limit",
        "http.connection_limit", "database.statement_timeout", "blob.upload_limit", "blob.grace", "blob.scrub_days", "blob.scrub_rate", "documents.clamd_timeout_s", "crash.limit", "crash.window", "lua_hooks.instructions", "lua_hooks.query_ms",
        "batches.array_items", "batches.items", "batches.sync_items", "batches.mixed_items", "batches.request_seconds", "batches.queued", "batches.data_url_mib",
        "batches.file_mib", "batches.run_hours", "batches.keep_days", "batches.record_days", "exports.rows", "documents.create_limits", "templates.generated_retention_days", "shipments.simulator_step_seconds", "stations.retention_hours",
        "stations.processing_timeout", "stations.reroute_after", "stations.offline_after", "workflows.cpu_share", "workflows.budgets", "workflows.public_per_minute"],
    "a limit with fixed numbers that tests meet": ["rate_limit.endpoint", "mail.max_per_minute"],
    "what may be reached, and what links begin with: tests are about the answer": [
        "net.allow", "net.allow_http", "net.resolve", "net.ca_file", "net.dns", "base_url", "tenants.enabled", "openapi.require_key", "docs.enabled"],
    "to whom and as whom mails go; tests of mail say it": ["mail.user", "mail.password", "mail.from_name", "support.email_to"],
    "hooks that may do more are not called more": ["lua_hooks.allow_write", "lua_hooks.unsafe"],
}

HOOKS = """
local function count(change)
  local seen = 0
  for _, part in ipairs({"input", "old", "new"}) do
    for _ in pairs(change[part] or {}) do seen = seen + 1 end
  end
  return seen
end
local function look(change, ctx)
  wharf.metrics.count("writes_seen", count(change), {action = change.action})
end
for _, resource in ipairs({%s}) do
  for _, action in ipairs({"create", "update", "delete"}) do
    pcall(wharf.hook.before, resource, action, look, {timeout_ms = 250, on_error = "ignore"}) -- modules that are left out have none
    pcall(wharf.hook.after, resource, action, look)
  end
end
wharf.hook.request(function(request) local _ = request.path .. tostring(request.body) end, {on_error = "ignore"})
wharf.hook.response(function(answer) local _ = tostring(answer.code) .. tostring(answer.route) end, {on_error = "ignore"})
wharf.hook.on_event("*", function(event, ctx)
  wharf.log.debug("seen " .. event.type .. " with " .. wharf.secret("EVERYTHING"))
end, {filter = {{path = "type", op = "exists"}}, concurrency = {max = 2, key = "resource"}})
wharf.hook.schedule("* * * * *", function(tick) wharf.metrics.count("minutes_seen", 1) end)
wharf.hook.route("GET", "/v1/x/everything/:name", {scope = "any", location = "none"}, function(request) return {name = request.params.name} end)
"""


@functools.lru_cache(maxsize=None)
def certificate():
    """The pair of all servers of this process; whoever asks by `requests` or by the commands that ask a server believes it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-tls-", dir=os.environ.get("WHARF_TEST_PLACE")))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    pair = certificates.make(folder, "everything", "-days", "30")
    os.environ["REQUESTS_CA_BUNDLE"] = os.environ["WHARF_CA_FILE"] = str(pair[0])
    return pair


stores = {}  # of folders: a server that starts again finds its files


def store(folder):
    if folder not in stores:
        stores[folder] = Store()
    s = stores[folder]
    return {"blob.driver": "s3", "blob.s3.endpoint": f"http://127.0.0.1:{s.port}", "blob.s3.bucket": s.bucket, "blob.s3.key": s.key, "blob.s3.secret": s.secret}


def forget(folder):
    """The server of this folder is not started again."""
    if folder in stores:
        s = stores.pop(folder)
        s.shutdown()
        s.server_close()


@functools.lru_cache(maxsize=None)
def mail():
    """Takes all mails of the servers of this process, and drops them."""
    from aiosmtpd.controller import Controller

    class Door(Controller):
        def _trigger_server(self):
            self.port = self.server.sockets[0].getsockname()[1]  # known only now: aiosmtpd would connect to 0
            super()._trigger_server()

    class Sink:
        async def handle_DATA(self, server, session, envelope):
            return "250 OK"

    door = Door(Sink(), hostname="127.0.0.1", port=0)
    door.start()
    atexit.register(door.stop)
    return {"mail.url": f"smtp://127.0.0.1:{door.port}", "mail.tls": "none", "mail.from": "wharf@example.com"}


def hooks(folder, schemas):
    place = folder / "all-hooks"
    place.mkdir(exist_ok=True)
    place.chmod(0o755)
    names = sorted({p.name.split(".")[0] for p in pathlib.Path(schemas).glob("*/*.json")})
    (place / "10-everything.lua").write_text(HOOKS % ", ".join(f'"{name}"' for name in names))
    return place


def arguments(args, folder, schemas, limits, beside):
    """What is said beside args. schemas: the folder of the definitions, whose names are those of the resources. limits: the test has rates of its own.
    beside: the folder of the server whose database, and so whose files, this one has; or this one's own."""
    said = {str(a).removeprefix("--set=").split("=", 1)[0] for a in args}
    more = {**SETTINGS, "lua_hooks.dir": str(hooks(folder, schemas)), "log.access": str(folder / "access.log")}
    if not said & {"tls.certificate", "tls.key"}:
        more |= dict(zip(("tls.certificate", "tls.key"), map(str, certificate())))
    if not any(key.startswith("blob.") and key != "blob.upload_limit" for key in said):
        more |= store(beside)
    if not any(key.startswith("mail.") and key != "mail.max_per_minute" for key in said):
        more |= mail()
    return [a for key, value in more.items() if key not in said and not (limits and key.startswith("rate_limit.")) for a in ("--set", f"{key}={value}")]


def headers(sent, data):
    """Headers and body of a request as a client sends them that compresses: what a test says itself is left as it is."""
    names = {name.lower() for name in sent}
    if ON and "accept-encoding" not in names:
        sent = {**sent, "Accept-Encoding": "gzip"}
    if ON and isinstance(data, bytes) and len(data) >= 1024 and not names & {"content-encoding", "content-length", "transfer-encoding"}:
        sent, data = {**sent, "Content-Encoding": "gzip"}, gzip.compress(data, 1)
    return sent, data
