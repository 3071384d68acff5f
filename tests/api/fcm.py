"""Firebase Cloud Messaging and its token service as tests need them: they look at what they are sent as Google does."""
import base64
import json
import subprocess
import time
import urllib.parse

TOKEN_LIFE = 3599


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def reply(code, body, **headers):
    return lambda handler: handler.answer(code, json.dumps(body).encode(), Content_Type="application/json", **headers)


def fcm_error(code, status_word, error_code, message="no", **violation):
    details = [{"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": error_code}]
    if violation:
        details.append({"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]})
    return reply(code, {"error": {"code": code, "message": message, "status": status_word, "details": details}})


class Google:
    """Answers at /token and at send of web (receivers.py), for a service account of its own."""

    def __init__(self, web, folder, project="labels-1", email="printer@labels-1.iam.example"):
        self.web, self.folder, self.email, self.tokens, self.offsets = web, folder, email, 0, [0]
        self.send = f"/v1/projects/{project}/messages:send"
        self.key, self.public, self.account = folder / "key.pem", folder / "public.pem", folder / "account.json"
        subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self.key], check=True, capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", self.key, "-pubout", "-out", self.public], check=True)
        self.account.write_text(json.dumps({"type": "service_account", "project_id": project, "private_key_id": "k1", "private_key": self.key.read_text(),
                                            "client_email": email, "token_uri": web.url("/token")}))
        web.answers["/token"] = self.give_token
        web.answers[self.send] = self.good = reply(200, {"name": f"projects/{project}/messages/1"})

    def ahead(self, offset):
        """The server's clock is so far ahead, or will be: no process of it hears of that in the same moment."""
        self.offsets.append(offset)

    def give_token(self, handler):
        """Looks at the grant, the signature and each claim."""
        form = urllib.parse.parse_qs(handler.sent.decode())
        head, claims, mark = form["assertion"][0].split(".")
        (self.folder / "mark").write_bytes(decode(mark))
        done = subprocess.run(["openssl", "dgst", "-sha256", "-verify", self.public, "-signature", self.folder / "mark"], input=f"{head}.{claims}".encode(), capture_output=True)
        head, claims, now = json.loads(decode(head)), json.loads(decode(claims)), time.time()
        good = (done.returncode == 0 and head == {"alg": "RS256", "typ": "JWT", "kid": "k1"} and form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
                and claims["iss"] == self.email and claims["aud"] == self.web.url("/token")
                and claims["scope"] == "https://www.googleapis.com/auth/firebase.messaging"
                and any(abs(claims["iat"] - now - offset) < 60 for offset in self.offsets) and claims["exp"] - claims["iat"] == 3600 and set(claims) == {"iss", "aud", "scope", "iat", "exp"})
        if good:
            self.tokens += 1
        handler.answer(200 if good else 400, json.dumps({"access_token": f"secret-bearer-{self.tokens}", "expires_in": TOKEN_LIFE, "token_type": "Bearer"}
                                                       if good else {"error": "invalid_grant"}).encode())
