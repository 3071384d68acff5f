"""How fast carriers are detected: requests of 1,000 numbers, from sending to the last byte of the answer (a client's parsing of half a megabyte of JSON
takes about as long and is not counted). Numbers per second of one core: build/tests/bench/detect schemas/carriers.json.

    tests/bench/detect.py [--seconds 3]     WHARF_BUILD as in the tests
"""
import argparse
import json
import pathlib
import random
import sys
import time

import requests

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))

from wharf import Server  # noqa: E402

random.seed(1)
KINDS = ["1Z58F2A70378657975", "371755712374", "RR733191240GB", "9400112704534577691524", "420100019400112704534577691524", "61296502014620168493",
         "70196204207858270842", "9622042935575918362361078852611491", "TBA123456789012", "not a number", "12345678901234", "JD1234567890123456"]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=float, default=3)
    seconds = p.parse_args().seconds
    server = Server("--modules", "org,carriers")
    try:
        session, headers = requests.Session(), {"SVC-API-KEY": server.organization().key(), "Content-Type": "application/json"}
        body = {"tracking_number": [random.choice(KINDS) for _ in range(1000)]}
        for encoding in ("gzip", "identity"):
            times, end = [], time.monotonic() + seconds
            while time.monotonic() < end:
                at = time.perf_counter()
                r = session.post(server.base + "/v1/utils/providers/detect", data=json.dumps(body), headers={**headers, "Accept-Encoding": encoding}, stream=True)
                answer = r.raw.read()
                times.append(time.perf_counter() - at)
                assert r.status_code == 200
            times.sort()
            print(json.dumps({"requests": len(times), "numbers": 1000, "encoding": encoding, "bytes": len(answer), "p50_ms": round(times[len(times) // 2] * 1000, 2),
                              "p95_ms": round(times[len(times) * 95 // 100] * 1000, 2), "best_ms": round(times[0] * 1000, 2)}))
    finally:
        server.stop()


if __name__ == "__main__":
    main()
