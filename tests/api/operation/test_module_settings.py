"""Settings of modules against the schemas in their manifests: `wharf check` and the start refuse the same (docs/reference/plugin-abi.md section 2)."""
import os
import subprocess

import pytest

from wharf import BUILD, PROGRAM, WAIT

MODULES = "org,locations,stations,carriers,shipments,support"


def check(*more, modules=MODULES, command="check", **env):
    return subprocess.run([PROGRAM, command, "--set", f"modules={modules}", *more], capture_output=True, text=True, timeout=WAIT, env={**os.environ, **env})


@pytest.mark.parametrize("setting, value, said", [
    ("stations.retention_hours", "0", "stations.retention_hours must be 1 or more"),
    ("stations.retention_hours", "soon", "stations.retention_hours must be a whole number"),
    ("stations.offline_after", "1.5", "stations.offline_after must be a whole number"),
    ("stations.reroute_after", "-1", "stations.reroute_after must be 0 or more"),
    ("stations.processing_timeout", "86401", "stations.processing_timeout must be 86400 or less"),
    ("stations.ofline_after", "60", 'there is no setting "stations.ofline_after"; did you mean stations.offline_after?'),
    ("stations.push.fcm.servce_account", "/x", 'there is no setting "stations.push.fcm.servce_account"; did you mean stations.push.fcm.service_account?'),
    ("stations.colour", "red", 'there is no setting "stations.colour"\n'),
    ("stations.push", "fcm", "stations.push must be an object"),
    ("stations.fit", "tight", "stations.fit must be one of"),
    ("stations.push.drivers", "fcm,telegram", 'stations.push.drivers.1 must be one of'),
    ("stations.push.webhook.url", "", "stations.push.webhook.url must not be empty"),
    ("carriers.tracking_prefix", "x", "carriers.tracking_prefix"),
    ("shipments.simulator_step_seconds", "true", "shipments.simulator_step_seconds must be a whole number"),
    ("locations.anything", "1", 'there is no setting "locations.anything"; the module locations has none'),
])
def test_what_a_manifest_refuses(setting, value, said):
    a = check("--set", f"{setting}={value}")
    assert a.returncode == 1 and said in a.stderr and f"--set {setting}: " in a.stderr, a.stderr
    assert "plugins have problems" in a.stderr


def test_an_area_belongs_to_one_plugin(tmp_path):
    """Two that claim the same scope area are not loaded (spec 01 section 6.3)."""
    one, other = BUILD / "tests/plugins/filterbench.so", tmp_path / "filterbenck.so"
    other.write_bytes(one.read_bytes().replace(b'"name": "filterbench"', b'"name": "filterbenck"').replace(b'"name":"filterbench"', b'"name":"filterbenck"'))
    other.chmod(0o644)
    assert check(modules=f"org,locations,{one}").returncode == 0
    a = check(modules=f"org,locations,{one},{other}")
    assert a.returncode == 1 and f"{one} and {other} both claim the scope area samples; enable one of them" in a.stderr, a.stderr


def test_the_start_refuses_them_too(tmp_path):
    a = check("--data", tmp_path / "data", "--set", "stations.offline_after=never", "--listen", "127.0.0.1:0", command="dev")
    assert a.returncode != 0 and "--set stations.offline_after: stations.offline_after must be a whole number" in a.stdout + a.stderr


def test_all_at_once_and_where(tmp_path):
    file = tmp_path / "wharf.lua"
    file.write_text(f'stations = {{\n  offline_after = "soon",\n  push = {{\n    drivers = {{ "pigeon" }},\n    fcm = {{ projekt = "x" }} }} }}\nsupport = {{ email_to = {{}} }}\n')
    a = check("-c", file, WHARF_STATIONS_RETENTION_HOURS="none")
    assert a.returncode == 1
    for line in (f"{file}:2: stations.offline_after must be", f"{file}:4: stations.push.drivers.0 must be one of", "did you mean stations.push.fcm.project?",
                 f"{file}:6: support.email_to must be", "WHARF_STATIONS_RETENTION_HOURS: stations.retention_hours must be"):
        assert line in a.stderr, (line, a.stderr)


def test_values_are_taken_as_they_can_be_written(tmp_path):
    file = tmp_path / "wharf.lua"
    file.write_text(f'stations = {{ reroute_after = 0, push = {{ drivers = {{}}, pushy = {{ api_key = 4711 }} }} }}\n')
    for more, env in ((("-c", file), {}), (("--set", "stations.push.drivers=stream"), {}), (("--set", "support.email_to=a@example.com,b@example.com"), {}),
                      ((), {"WHARF_STATIONS_OFFLINE_AFTER": "45"}), (("--set", "carriers.tracking_prefix=12"), {})):
        a = check(*more, **env)
        assert a.returncode == 0 and "are fine" in a.stdout, a.stderr


def test_modules_that_are_off_keep_their_tables():
    a = check("--set", "stations.colour=red", modules="org,locations")
    assert a.returncode == 0, a.stderr
