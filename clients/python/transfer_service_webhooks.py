"""Verifies the signature of the transfer service's webhook deliveries.

This file depends on the standard library alone and may be copied.
"""

import hashlib
import hmac
import re
from datetime import datetime, timedelta, timezone
from typing import Optional, Union

__all__ = ["SignatureError", "verify"]

_FIELD = re.compile(r"\s*([a-z][a-z0-9]*)=(\S+)\s*")
_DIGEST = re.compile(r"[0-9a-fA-F]{64}")
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})?"
)


class SignatureError(Exception):
    """The delivery must be rejected.

    ``code`` is stable: missing_header, malformed_header, bad_timestamp, signature_mismatch, too_old or too_new.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def verify(
    header: Optional[str],
    body: bytes,
    secret: Union[str, bytes],
    *,
    now: Optional[datetime] = None,
    tolerance_seconds: float = 300,
) -> datetime:
    """Returns the time at which the delivery was signed, or raises SignatureError.

    :param header: the ``Service-Signature`` header as received, None if there is none
    :param body: the body exactly as received, before any JSON parser
    :param secret: the endpoint's secret as it was registered
    :param now: the receiver's time, with a zone; the current time by default
    """
    if not isinstance(body, (bytes, bytearray, memoryview)):
        raise TypeError("body must be the raw bytes of the request, not the parsed JSON")
    key = secret.encode() if isinstance(secret, str) else secret
    if not key:
        raise ValueError("secret is empty")
    if not 0 <= tolerance_seconds < float("inf"):
        raise ValueError("tolerance_seconds must be a number of seconds, 0 or more")
    now = datetime.now(timezone.utc) if now is None else now
    if now.tzinfo is None:
        raise ValueError("now must have a time zone")
    t, v0 = _parse(header)
    signed_at = _parse_time(t)
    expected = hmac.new(key, t.encode() + b"." + bytes(body), hashlib.sha256).digest()
    if not hmac.compare_digest(expected, bytes.fromhex(v0)):
        raise SignatureError(
            "signature_mismatch",
            "the signature does not match: verify the raw body as received, with this endpoint's secret",
        )
    age, tolerance = now - signed_at, timedelta(seconds=tolerance_seconds)
    if age > tolerance:
        raise SignatureError("too_old", "the delivery was signed too long ago: a replay, or a clock that is ahead")
    if -age > tolerance:
        raise SignatureError("too_new", "the delivery was signed in the future: set this machine's clock by NTP")
    return signed_at


def _parse(header: Optional[str]) -> tuple[str, str]:
    if not header:
        raise SignatureError("missing_header", "there is no Service-Signature header")
    fields: dict[str, str] = {}
    for field in header.split(","):
        match = _FIELD.fullmatch(field)
        if match is None or match[1] in fields:
            raise SignatureError("malformed_header", "the header is not t=<iso-8601-timestamp>,v0=<hex-hmac>")
        fields[match[1]] = match[2]
    if "t" not in fields or _DIGEST.fullmatch(fields.get("v0", "")) is None:
        raise SignatureError("malformed_header", "the header has no t, or no v0 of 64 hexadecimal digits")
    return fields["t"], fields["v0"]


def _parse_time(t: str) -> datetime:
    match = _TIME.fullmatch(t)
    if match is not None:
        seconds, fraction, zone = match.groups()
        micros = (fraction or "").ljust(6, "0")[:6]
        offset = "+00:00" if zone in (None, "Z") else zone
        try:
            return datetime.fromisoformat(f"{seconds}.{micros}{offset}")
        except ValueError:
            pass
    raise SignatureError("bad_timestamp", "t is not an ISO 8601 timestamp such as 2026-11-21T10:00:00.123Z")
