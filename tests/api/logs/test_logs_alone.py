"""The module logs with nothing but what it needs."""
import time

from wharf import WAIT, Server


def test_alone():
    s = Server("--modules", "org,logs")
    try:
        c = s.organization().client()
        assert {r["resource"] for r in c.get("/v1/logs").data} == {"organization", "api_key"}
        end = time.monotonic() + WAIT
        while c.get("/v1/logs/verify").data["checked"] < 2:
            assert time.monotonic() < end
            time.sleep(0.1)
        assert c.get("/v1/logs/verify").data["valid"]
        wrong = c.get("/v1/logs?order_by=id", expect=400).headers["Request-Id"]
        while not s.sql("SELECT 1 FROM wharf.request_log WHERE id = %s", wrong):
            assert time.monotonic() < end
            time.sleep(0.1)
        assert c.get("/v1/request-logs/" + wrong).data["code"] == "param.invalid"
    finally:
        s.stop()
