"""Folders of servers that were started before: who starts one with the same modules goes on from there (docs/decisions 176)."""
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess

import everything


def prepare(folder, args, built, start):
    """What a first start makes - a database with the tables of these modules - is three quarters of a start. It is kept, when it is asked for
    the second time, and unpacked from then on; who asks first gets what a start with the module org alone makes, to which the server adds the other
    tables. Nothing but the modules is looked at: what else `args` say is said at each start. built: the program and its modules; start: wharf.Server."""
    place = pathlib.Path(os.environ["WHARF_TEST_PLACE"]) / "prepared"
    place.mkdir(exist_ok=True)
    modules = list(args[args.index("--modules"):][:2]) if "--modules" in args else []
    base = ["--modules", "org"]
    kept = kept_start(place, modules, modules == base, built, start)
    if not kept and (not modules or "org" in modules[1].split(",")):
        kept = kept_start(place, base, True, built, start)
    if kept:
        subprocess.run(f"zstd -dcq '{kept}' | tar -C '{folder}' -xf -", shell=True, check=True)


def kept_start(place, modules, at_once, built, start):
    """The archive of a first start with these modules, which is made when it is asked for the second time or at_once; or None."""
    files = [*built, *(pathlib.Path(p) for p in "".join(modules[1:]).split(",") if p.endswith(".so"))]
    kept = place / (hashlib.sha256(repr((modules, [(str(f), f.stat().st_mtime_ns) for f in sorted(files)])).encode()).hexdigest()[:24] + ".tar.zst")
    with open(kept.with_suffix(".lock"), "a+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not lock.tell() and not at_once:
            lock.write(b"asked for once\n")
            return None
        if not kept.exists():
            begun = place / (kept.name + ".d")
            shutil.rmtree(begun, ignore_errors=True)  # of who was killed in the midst of it
            begun.mkdir()
            start(*modules, "--set", "tls.certificate=", folder=begun).end()  # plain: the test may trust a certificate of its own
            everything.forget(begun)
            for name in ("out", "ready.json", "wharf.log", "access.log", "postgresql.log", "lock"):
                (begun / name).unlink(missing_ok=True)
            drop_spare_log(begun / "postgres")
            subprocess.run(f"tar -S -C '{begun}' -cf - . | zstd -1 -q -f -o '{kept}'", shell=True, check=True)
            shutil.rmtree(begun)
    return kept


def drop_spare_log(cluster):
    """Removes files of the write-ahead log that PostgreSQL has made for later, 16 MB each: a third of what is unpacked for each server."""
    version = (cluster / "PG_VERSION").read_text().strip()
    told = subprocess.run([f"/usr/lib/postgresql/{version}/bin/pg_controldata", cluster], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, check=True).stdout
    last = re.search(r"REDO WAL file:\s+(\w+)", told)[1]
    for file in (cluster / "pg_wal").glob("0*"):
        if file.name > last:
            file.unlink()
