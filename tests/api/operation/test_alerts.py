"""What an operator is told at night: the alert rules of docs/guide/alerts.yml name metrics that a server has, and fire for what /metrics tells then."""
import re
import subprocess

import pytest
import requests

import certificates
from test_operation import until, value
from test_workers import log_lines
from wharf import ROOT, WAIT, Server

RULES = ROOT / "docs/guide/alerts.yml"


def promtool(*words):
    return subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True, timeout=WAIT)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The metrics of a server with TLS whose certificate ends in nine days, with an event that nobody processes and deliveries that wait."""
    pair = certificates.make(tmp_path_factory.mktemp("pair"), "soon", "-days", "9")
    s = Server("--modules", "org,locations,contacts,events,webhooks,workflows,documents,integrations,logs", "--set", "mail.url=")
    try:
        s.sql("INSERT INTO wharf.outbox (organization_id, created_at) VALUES ('none', now() - interval '1 hour')")
        text = until(lambda: (t := requests.get(s.admin + "/metrics", timeout=WAIT).text) and value(t, "wharf_database_connections_allowed") and 'of="workflows"' in t and t)
        yield s, text, pair
    finally:
        s.stop()


def test_one_prefix(told):
    names = set(re.findall(r"^# TYPE (\S+)", told[1], re.M))
    assert len(names) > 35 and all(re.match("(wharf|process)_[a-z_]+$", n) for n in names), names
    checked = subprocess.run(["promtool", "check", "metrics"], input=told[1], capture_output=True, text=True, timeout=WAIT)
    assert checked.returncode == 0 and not checked.stdout + checked.stderr, checked.stdout + checked.stderr


def test_state_of_processes_backlogs_and_database(told):
    server, text, _ = told
    for kind in ("web", "job", "supervisor"):
        name = f'{{kind="{kind}",index="0"}}'
        assert value(text, "process_resident_memory_bytes" + name) > 1 << 20 and f"process_cpu_seconds_total{name} " in text, kind
        assert 0 < value(text, "process_open_fds" + name) < value(text, "process_max_fds" + name)
        assert value(text, "process_start_time_seconds" + name) > 1.7e9
    assert {"events", "jobs", "webhooks", "workflows"} <= set(re.findall(r'^wharf_backlog\{of="(\w+)"\}', text, re.M)) == set(re.findall(r'^wharf_backlog_age_seconds\{of="(\w+)"\}', text, re.M))
    assert value(text, "wharf_database_bytes") > 1 << 20
    assert 2 < value(text, "wharf_database_connections") < value(text, "wharf_database_connections_allowed") == 397


def test_rules_are_good_and_name_what_there_is(told):
    done = promtool("check", "rules", RULES)
    assert done.returncode == 0, done.stdout + done.stderr
    told_names = set(re.findall(r"^# TYPE (\S+)", told[1], re.M)) | {"wharf_certificate_end_seconds", "up"}
    used = set(re.findall(r"\b((?:wharf|process)_[a-z_]+)", " ".join(re.findall(r"expr: (.*)", RULES.read_text()))))
    assert len(used) > 15 and used <= told_names, used - told_names


def test_rules_fire(tmp_path):
    """promtool plays metrics and says which rules fire."""
    cases = {
        "WharfAway": 'up{job="wharf",instance="a"}', "WharfWorkerDown": 'wharf_worker_up{kind="web",index="0"}', "WharfPluginQuarantined": 'wharf_plugin_quarantined{plugin="x"}',
        "WharfBacklog": 'wharf_backlog_age_seconds{of="events"}', "WharfFilesDamaged": "wharf_blob_damaged", "WharfDiskFailures": 'wharf_disk_failures_total{place="data"}',
        "WharfWorkersCrash": "wharf_worker_crashes_total", "WharfLogLinesLost": 'wharf_log_lines_lost_total{log="log"}', "WharfHangs": "wharf_worker_hangs_total",
        "WharfMemory": "wharf_worker_memory_restarts_total", "WharfJobsParked": 'wharf_job_runs_total{queue="q",outcome="parked"}', "WharfCertificateEnds": "wharf_certificate_end_seconds",
        "WharfClock": "wharf_clock_difference_seconds"}
    bad = {"WharfAway": "0x30", "WharfWorkerDown": "0x30", "WharfPluginQuarantined": "1x30", "WharfBacklog": "400x30", "WharfFilesDamaged": "2x30", "WharfCertificateEnds": "86400x30", "WharfClock": "-7200x30"}
    good = {"WharfAway": "1x30", "WharfWorkerDown": "1x30", "WharfPluginQuarantined": "0x30", "WharfBacklog": "3x30", "WharfFilesDamaged": "0x30", "WharfCertificateEnds": "9999999x30", "WharfClock": "0.2x30"}
    for state, values in (("bad", bad), ("good", good)):
        for alert, series in cases.items():
            played = values.get(alert, "0+5x30" if state == "bad" else "7x30")
            test = tmp_path / f"{alert}-{state}.yml"
            test.write_text(f"rule_files: [{RULES}]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n      - series: '{series}'\n        values: '{played}'\n"
                            f"    promql_expr_test:\n      - expr: count(ALERTS{{alertname=\"{alert}\",alertstate=\"firing\"}}) or vector(0)\n        eval_time: 25m\n        exp_samples:\n"
                            f"          - labels: '{{}}'\n            value: {1 if state == 'bad' else 0}\n")
            done = promtool("test", "rules", test)
            assert done.returncode == 0, (alert, state, done.stdout + done.stderr)


def test_a_certificate_that_ends_soon(told, monkeypatch):
    """/readyz and the metric tell it two weeks before clients refuse it; one that has ended is refused at the start, by `wharf check` and by a reload (test_tls.py)."""
    crt, key = told[2]
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(crt))
    s = Server("--modules", "org", "--set", f"tls.certificate={crt}", "--set", f"tls.key={key}")
    try:
        ready = requests.get(s.admin + "/readyz?verbose", timeout=WAIT).json()
        assert ready["ready"] and any(re.fullmatch("the certificate ends in [89] days; renew tls.certificate and reload", t) for t in ready["degraded"]), ready
        assert value(requests.get(s.admin + "/metrics", timeout=WAIT).text, "wharf_certificate_end_seconds") > 1.7e9
        assert not log_lines(s.folder, "ready.lost")
    finally:
        s.stop()
