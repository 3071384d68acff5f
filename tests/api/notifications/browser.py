"""A browser that is told by Web Push, and its push service: they judge what they are sent by RFC 8291, RFC 8188 and RFC 8292 themselves."""
import base64
import ctypes
import hashlib
import hmac
import json
import re
import secrets
import time

from fcm import decode

# ---- P-256 ----

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
G = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296, 0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)


def plus(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0] and (a[1] + b[1]) % P == 0:
        return None
    slope = (3 * a[0]**2 - 3) * pow(2 * a[1], -1, P) if a == b else (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (slope**2 - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def times(k, point):
    sum_ = None
    while k:
        if k & 1:
            sum_ = plus(sum_, point)
        point, k = plus(point, point), k >> 1
    return sum_


def point_of(octets):
    x, y = int.from_bytes(octets[1:33], "big"), int.from_bytes(octets[33:], "big")
    assert len(octets) == 65 and octets[0] == 4 and (y**2 - x**3 + 3 * x - B) % P == 0
    return x, y


def octets_of(point):
    return b"\4" + point[0].to_bytes(32, "big") + point[1].to_bytes(32, "big")


def verifies(public, text, mark):
    """ES256: r and s one after the other."""
    r, s = int.from_bytes(mark[:32], "big"), int.from_bytes(mark[32:], "big")
    if len(mark) != 64 or not 0 < r < N or not 0 < s < N:
        return False
    e, w = int.from_bytes(hashlib.sha256(text).digest(), "big"), pow(s, -1, N)
    found = plus(times(e * w % N, G), times(r * w % N, point_of(public)))
    return found is not None and found[0] % N == r


# ---- AES-128-GCM ----

crypto = ctypes.CDLL("libcrypto.so.3")
crypto.EVP_CIPHER_CTX_new.restype = crypto.EVP_aes_128_gcm.restype = ctypes.c_void_p


def open_gcm(key, nonce, sealed):
    context, n, out = ctypes.c_void_p(crypto.EVP_CIPHER_CTX_new()), ctypes.c_int(), ctypes.create_string_buffer(len(sealed))
    text, tag = sealed[:-16], sealed[-16:]
    assert crypto.EVP_DecryptInit_ex(context, ctypes.c_void_p(crypto.EVP_aes_128_gcm()), None, key, nonce) == 1
    assert crypto.EVP_DecryptUpdate(context, out, ctypes.byref(n), text, len(text)) == 1
    assert crypto.EVP_CIPHER_CTX_ctrl(context, 0x11, 16, tag) == 1
    good = crypto.EVP_DecryptFinal_ex(context, ctypes.create_string_buffer(16), ctypes.byref(n)) == 1
    crypto.EVP_CIPHER_CTX_free(context)
    assert good, "the message does not open"
    return out.raw[:len(text)]


def mac(key, text):
    return hmac.new(key, text, hashlib.sha256).digest()


# ---- the browser ----

class Browser:
    """Subscribes at a path of the receivers; `got` opens what came there."""
    count = 0

    def __init__(self, web):
        Browser.count += 1
        self.web, self.path = web, f"/browser/{Browser.count}/{secrets.token_urlsafe(12)}"
        self.private, self.auth = secrets.randbelow(N - 1) + 1, secrets.token_bytes(16)
        self.public = octets_of(times(self.private, G))
        web.answers[self.path] = lambda handler: handler.answer(201, b"")

    def body(self, name="Firefox", **more):
        return {"endpoint": self.web.url(self.path), "keys": {"p256dh": encode(self.public), "auth": encode(self.auth)}, "name": name, **more}

    @property
    def raw(self):
        with self.web.lock:
            return list(self.web.got[self.path])

    def got(self):
        return [json.loads(self.open(g)) for g in self.raw]

    def open(self, got):
        """RFC 8291 section 3.4, RFC 8188 section 2."""
        body = got.body
        assert got["content-encoding"] == "aes128gcm" and got["content-type"] == "application/octet-stream" and len(body) <= 4096
        salt, size, n = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        sender, sealed = body[21:21 + n], body[21 + n:]
        assert n == 65 and len(sealed) <= size
        shared = times(self.private, point_of(sender))[0].to_bytes(32, "big")
        ikm = mac(mac(self.auth, shared), b"WebPush: info\0" + self.public + sender + b"\1")
        prk = mac(salt, ikm)
        text = open_gcm(mac(prk, b"Content-Encoding: aes128gcm\0\1")[:16], mac(prk, b"Content-Encoding: nonce\0\1")[:12], sealed)
        assert text.rstrip(b"\0")[-1:] == b"\2"
        return text.rstrip(b"\0")[:-1]

    def judge(self, got, vapid_key, offset=0):
        """As a push service does: RFC 8292 and the headers of RFC 8030. Returns the claims."""
        found = re.fullmatch(r"vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), k=([\w-]+)", got["authorization"])
        head, claims, mark, key = found.groups()
        assert key == vapid_key and verifies(decode(key), f"{head}.{claims}".encode(), decode(mark))
        assert json.loads(decode(head)) == {"typ": "JWT", "alg": "ES256"}
        claims, now = json.loads(decode(claims)), time.time() + offset
        assert claims["aud"] == f"http://127.0.0.1:{self.web.port}" and now < claims["exp"] <= now + 86400
        assert re.fullmatch(r"\d+", got["ttl"]) and got["urgency"] in ("very-low", "low", "normal", "high")
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,32}", got["topic"])
        return claims


def encode(octets):
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()
