"""`wharf help settings` lists every setting of the server and of each module; `wharf config show` those in force and where each was written."""
import json
import os
import subprocess

from wharf import PROGRAM, ROOT, WAIT


def wharf(*words, code=0, **env):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=WAIT, env={**os.environ, **env})
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def in_manifests(name, schema):
    for key, said in schema.get("properties", {}).items():
        if "properties" in said:
            yield from in_manifests(f"{name}.{key}", said)
        else:
            yield f"{name}.{key}", said


def test_each_setting_has_type_bounds_default_and_purpose():
    rows = {row["key"]: row for row in json.loads(wharf("help", "settings", "--json"))}
    assert rows["database.lanes"]["type"] == "number, 1 to 64" and rows["database.lanes"]["default"] == "4"
    assert rows["mail.password"]["secret"] and rows["stations.push.pushy.api_key"]["secret"] and not rows["mail.user"]["secret"]
    manifests = [json.loads(file.read_text()) for file in sorted((ROOT / "modules").glob("*/plugin.json"))]
    of_modules = {key: said for m in manifests for key, said in in_manifests(m["name"], m.get("config", {}))}
    assert len(of_modules) > 60 and set(of_modules) <= set(rows)
    for key, row in rows.items():
        assert len(row["meaning"]) > 6 and row["type"] not in ("", "any"), row
        if key in of_modules and "minimum" in of_modules[key]:
            assert row["type"] == f"number, {of_modules[key]['minimum']} to {of_modules[key]['maximum']}", row
            assert "default" in row or "without it" in row["meaning"], row
    lines = {line.split()[0]: line for line in wharf("help", "settings").splitlines() if line.strip()}
    assert set(rows) <= set(lines) and "number, 1 to 100000" in lines["batches.array_items"] and " 10000 " in lines["batches.array_items"]


def test_help_is_there_when_the_settings_are_wrong(tmp_path):
    file = tmp_path / "wharf.lua"
    file.write_text('lissen = "x"\nstations = { offline_after = "never" }\n')
    assert "stations.offline_after" in wharf("help", "settings", "-c", file)


def test_what_is_in_force_and_where_it_was_written(tmp_path):
    file = tmp_path / "wharf.lua"
    file.write_text("""listen = "127.0.0.1:7001"
database = { url = "postgresql://wharf:pearl@db.example/wharf" }
mail = { password = "ruby" }
stations = {
  offline_after = 33,
  push = { pushy = { api_key = "opal" } } }
hook_secrets = { TOKEN = "agate" }
""")
    file.chmod(0o640)
    shown = wharf("config", "show", "-c", file, "--json", "--set", "workers=2", "--set", "exports.rows=9", WHARF_NET_ALLOW="10.0.0.5,10.0.0.6")
    for secret in ("pearl", "ruby", "opal", "agate"):
        assert secret not in shown + wharf("config", "show", "-c", file), secret
    rows = {row["key"]: (row["value"], row["from"]) for row in json.loads(shown)}
    assert rows["listen"] == ("127.0.0.1:7001", f"{file}:1")
    assert rows["database.url"][1] == f"{file}:2" and "host=db.example" in rows["database.url"][0]
    assert rows["mail.password"] == ("(hidden)", f"{file}:3") and rows["auth.pepper"] == ("", "default")
    assert rows["stations.offline_after"] == ("33", f"{file}:5") and rows["stations.push.pushy.api_key"] == ("(hidden)", f"{file}:6")
    assert rows["hook_secrets.TOKEN"] == ("(hidden)", f"{file}:7")
    assert rows["workers"] == ("2", "--set workers") and rows["exports.rows"] == ("9", "--set exports.rows")
    assert rows["net.allow"] == ("10.0.0.5,10.0.0.6", "WHARF_NET_ALLOW") and rows["database.lanes"] == ("4", "default")
    assert rows["batches.items"] == ("250000", "default")
