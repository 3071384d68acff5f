"""Certificates for tests, made by openssl: PEM files whose certificate is its own issuer."""
import subprocess


def make(folder, name, *more):
    """FOLDER/NAME.pem and NAME.key for 127.0.0.1; more: arguments of `openssl req`."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", certificate,
                    "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", *(more or ("-days", "2"))], check=True, capture_output=True)
    return certificate, key


def settings(certificate, key):
    return ["--set", f"tls.certificate={certificate}", "--set", f"tls.key={key}"]
