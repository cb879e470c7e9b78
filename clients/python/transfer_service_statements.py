"""Verifies the signature of a statement of the transfer service. No dependencies, Python 3.9 or later."""

import base64
import hashlib
import hmac
import json

# The ASN.1 prefix of a SHA-256 digest (RFC 8017 §9.2).
_SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")


class StatementError(ValueError):
    """The statement proves nothing."""


def digest_of(ids):
    """SHA-256 over the ids, sorted, each followed by a line feed."""
    lines = sorted({one.lower() for one in ids})
    return hashlib.sha256("".join(one + "\n" for one in lines).encode()).hexdigest()


def verify_statement(signature, jwks, issuer, ids=None):
    """Returns what was signed.

    signature: of the statement; jwks: {auth_url}/.well-known/jwks.json?retired=true; issuer: the auth_url that you
    trust; ids: of the events that you have of the window. Raises StatementError.
    """
    try:
        head, payload, seal = signature.split(".")
        header = json.loads(_decode(head))
        signed = json.loads(_decode(payload))
        seal = _decode(seal)
    except (ValueError, AttributeError) as error:
        raise StatementError("the signature is no JWS") from error
    if header.get("alg") != "RS256" or header.get("typ") != "statement+jwt" or "crit" in header:
        raise StatementError("the signature is no JWS with RS256 and typ statement+jwt")
    key = next((key for key in jwks["keys"] if key.get("kid") == header.get("kid") and key.get("kty") == "RSA"), None)
    if key is None:
        raise StatementError("the key set has no key " + str(header.get("kid")))
    modulus = int.from_bytes(_decode(key["n"]), "big")
    length = (modulus.bit_length() + 7) // 8
    digest = _SHA256 + hashlib.sha256(f"{head}.{payload}".encode()).digest()
    expected = b"\x00\x01" + b"\xff" * (length - len(digest) - 3) + b"\x00" + digest
    opened = pow(int.from_bytes(seal, "big"), int.from_bytes(_decode(key["e"]), "big"), modulus).to_bytes(length, "big")
    if len(seal) != length or not hmac.compare_digest(opened, expected):
        raise StatementError("the signature is not that of this key over this statement")
    if signed["iss"] != issuer:
        raise StatementError(f"the statement is of {signed['iss']}, not of {issuer}")
    if ids is not None and digest_of(ids) != signed["digest"]:
        raise StatementError(f"the statement counts {signed['events']} other events")
    return signed


def _decode(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
