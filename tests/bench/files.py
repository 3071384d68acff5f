#!/usr/bin/python3
"""Large files against nginx, which takes and gives the same bytes in the same folder of the same disk, in the same run and by turns.

  tests/bench/files.py [--turns N] [--mib N] [--files N] [--folder DIR] [--binary FILE]

upload     PUT of the bytes to the upload_url of a document, one after the other; nginx writes them by its WebDAV module
synced     the same, but of nginx each file is written to disk (fdatasync) before the next, as the server does before it answers
pieces     the same bytes in pieces of 8 MiB by tus 1.0, against nginx's PUT
download   GET of a document's signed link, against GET of the file

The client is curl for both, its time from the first byte of the request to the last of the answer. Prints for each the rates by turns in MB/s, their ratio
(median of the turns'), and how much memory the server's processes have before and after. Prints figures; asserts nothing.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import requests

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
import run as bench  # noqa: E402

MIB, PIECE = 1 << 20, 8 << 20


class Nginx:
    def __init__(self, stack):
        self.folder = stack.folder / "web"
        self.folder.mkdir()
        (stack.folder / "nginx.conf").write_text(f"""worker_processes 2; pid {stack.folder}/nginx.pid; error_log {stack.folder}/nginx.err; daemon off; user root;
events {{ worker_connections 1024; }}
http {{ access_log off; sendfile on; client_max_body_size 0; client_body_temp_path {stack.folder}/web.tmp;
 server {{ listen 127.0.0.1:18092; root {self.folder}; dav_methods PUT DELETE; create_full_put_path on; }} }}""")
        self.child = stack.start(["nginx", "-c", stack.folder / "nginx.conf", "-p", stack.folder])
        self.base = "http://127.0.0.1:18092"
        for _ in range(100):
            try:
                requests.get(self.base, timeout=1)
                return
            except requests.ConnectionError:
                time.sleep(0.05)
        sys.exit("nginx did not start")


class Documents:
    def __init__(self, stack, binary):
        _, self.info, _ = bench.start_wharf(stack, binary, "org,documents", bench.OFF + ["rate_limit.endpoint=false", "base_url="])
        self.base, self.headers = self.info["base_url"], {"SVC-API-KEY": self.info["api_key"]}

    def ask(self, method, path, status, **more):
        r = requests.request(method, self.base + path, headers=self.headers, timeout=60, **more)
        assert r.status_code == status, r.text
        return r.json()["data"]

    def announce(self):
        return self.ask("POST", "/v1/documents", 201, json={"name": "Large", "visibility": "private"})

    def completed(self, row):
        assert self.ask("GET", f"/v1/documents/{row['id']}", 200)["status"] == "completed"

    def drop(self, row):
        self.ask("DELETE", f"/v1/documents/{row['id']}?purge=true", 200)


def curl(*args):
    """Seconds that the request took."""
    out = subprocess.run(["curl", "-sf", "-o", "/dev/null", "-w", "%{time_total} %{time_pretransfer}", *map(str, args)], stdout=subprocess.PIPE, text=True, check=True).stdout
    total, before = map(float, out.split())
    return total - before


def memory():
    """MiB of all processes of the server, without what they share."""
    found, total = {bench.Stack.server}, 0
    grown = True
    while grown:
        grown = False
        for p in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                parent = int((p / "stat").read_text().rsplit(")", 1)[1].split()[1])
                if parent in found and int(p.name) not in found and "postgres" not in (p / "comm").read_text():
                    found.add(int(p.name))
                    grown = True
            except OSError:
                pass
    for pid in found:
        try:
            total += sum(int(line.split()[1]) for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() if line.startswith("Private_"))
        except OSError:
            pass
    return total / 1024


def upload(d, file):
    row = d.announce()
    took = curl("-T", file, "-H", f"Content-Type: {row['upload_headers']['Content-Type']}", "-H", "Expect:", d.base + path(row["upload_url"]))
    d.completed(row)
    d.drop(row)
    return took


def path(url):
    return url[url.index("/v1/"):]


def pieces(d, file):
    row = d.ask("POST", "/v1/documents", 201, json={"name": "Large", "visibility": "private", "size": file.stat().st_size})
    url, took = d.base + path(row["upload_url"]), 0
    with file.open("rb") as f:
        for at in range(0, file.stat().st_size, PIECE):
            part = file.with_suffix(".piece")
            part.write_bytes(f.read(PIECE))
            took += curl("-X", "PATCH", "--data-binary", f"@{part}", "-H", "Tus-Resumable: 1.0.0", "-H", f"Upload-Offset: {at}", "-H", "Expect:",
                         "-H", "Content-Type: application/offset+octet-stream", url)
    d.completed(row)
    d.drop(row)
    return took


def put_nginx(n, file, sync):
    took = curl("-T", file, "-H", "Expect:", f"{n.base}/large.bin")
    if sync:
        begun = time.perf_counter()
        fd = os.open(n.folder / "large.bin", os.O_RDONLY)
        os.fdatasync(fd)
        os.close(fd)
        took += time.perf_counter() - begun
    (n.folder / "large.bin").unlink()
    return took


def main():
    p = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    p.add_argument("--turns", type=int, default=5)
    p.add_argument("--mib", type=int, default=100)
    p.add_argument("--files", type=int, default=5, help="of each turn")
    p.add_argument("--folder", default=None, help="where both keep their files")
    p.add_argument("--binary", default=str(bench.HERE.parents[1] / "build" / "tool" / "wharf"))
    args = p.parse_args()
    folder = tempfile.mkdtemp(prefix="wharf-files-", dir=args.folder)
    os.chmod(folder, 0o755)
    stack = bench.Stack(folder)
    size, place = args.mib * MIB, pathlib.Path(tempfile.mkdtemp(dir="/dev/shm"))
    try:
        file = place / "large.bin"
        file.write_bytes(os.urandom(size))
        d, n = Documents(stack, args.binary), Nginx(stack)
        kept = d.announce()
        curl("-T", file, "-H", "Content-Type: application/octet-stream", "-H", "Expect:", d.base + path(kept["upload_url"]))
        link = d.base + path(d.ask("GET", f"/v1/documents/{kept['id']}?include_document_url=true", 200)["document_url"])
        (n.folder / "kept.bin").write_bytes(file.read_bytes())
        kinds = {"upload": (lambda: upload(d, file), lambda: put_nginx(n, file, False)), "synced": (lambda: upload(d, file), lambda: put_nginx(n, file, True)),
                 "pieces": (lambda: pieces(d, file), lambda: put_nginx(n, file, False)), "download": (lambda: curl(link), lambda: curl(f"{n.base}/kept.bin"))}
        before = memory()
        for name, both in kinds.items():
            rates = [[], []]
            for ask in both:
                ask()  # not measured
            for _ in range(args.turns):
                for k, ask in enumerate(both):
                    rates[k].append(size / 1e6 / statistics.median(ask() for _ in range(args.files)))
            ratios = [a / b for a, b in zip(*rates)]
            print(f"{name:<9} {' '.join(f'{r:.0f}' for r in rates[0])} MB/s; nginx {' '.join(f'{r:.0f}' for r in rates[1])}; ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})", flush=True)
        print(f"memory of the server's processes: {before:.0f} MiB before, {memory():.0f} MiB after")
    finally:
        stack.stop_all()
        subprocess.run(["rm", "-rf", folder, place], check=False)


if __name__ == "__main__":
    main()
