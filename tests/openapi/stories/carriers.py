"""A clerk scans labels and wants to know who delivers them."""


def tell(w):
    w.call("detect_providers", body={"tracking_number": ["1Z58F2A70378657975", "371755712374", "HELLO-SPRINGFIELD"]})
    providers = w.call("list_providers")
    assert any(p["id"] == "ups" for p in providers)
