// Package webhooks verifies the signature of the transfer service's webhook deliveries.
// This file depends on the standard library alone and may be copied.
package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"
	"time"
)

// Version is the release of this file.
const Version = "1.0.0"

// The codes of a SignatureError. They are stable.
const (
	MissingHeader     = "missing_header"
	MalformedHeader   = "malformed_header"
	BadTimestamp      = "bad_timestamp"
	SignatureMismatch = "signature_mismatch"
	TooOld            = "too_old"
	TooNew            = "too_new"
)

// DefaultTolerance is how far t may be from the receiver's time, before or after it.
const DefaultTolerance = 5 * time.Minute

// SignatureError says that the delivery must be rejected, and why.
type SignatureError struct {
	Code    string
	Message string
}

func (e *SignatureError) Error() string { return e.Message }

var (
	fieldForm  = regexp.MustCompile(`^\s*([a-z][a-z0-9]*)=(\S+)\s*$`)
	digestForm = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)
	timeForm   = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?$`)
)

// Verify checks a delivery against the current time with DefaultTolerance, and returns the time at which it was signed.
// header is the Service-Signature header as received, body the bytes as received, secret the endpoint's secret.
func Verify(header string, body []byte, secret string) (time.Time, error) {
	return VerifyAt(time.Now(), DefaultTolerance, header, body, secret)
}

// VerifyAt is Verify at a given time. The error is a *SignatureError, unless an argument is wrong.
func VerifyAt(now time.Time, tolerance time.Duration, header string, body []byte, secret string) (time.Time, error) {
	if secret == "" {
		return time.Time{}, errors.New("webhooks: secret is empty")
	}
	if tolerance < 0 {
		return time.Time{}, errors.New("webhooks: tolerance is negative")
	}
	t, signature, err := parse(header)
	if err != nil {
		return time.Time{}, err
	}
	signedAt, err := parseTime(t)
	if err != nil {
		return time.Time{}, err
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(body)
	if !hmac.Equal(mac.Sum(nil), signature) {
		return time.Time{}, &SignatureError{SignatureMismatch,
			"the signature does not match: verify the raw body as received, with this endpoint's secret"}
	}
	age := now.Sub(signedAt)
	if age > tolerance {
		return time.Time{}, &SignatureError{TooOld, "the delivery was signed too long ago: a replay, or a clock that is ahead"}
	}
	if age < -tolerance {
		return time.Time{}, &SignatureError{TooNew, "the delivery was signed in the future: set this machine's clock by NTP"}
	}
	return signedAt, nil
}

func parse(header string) (t string, signature []byte, err error) {
	if header == "" {
		return "", nil, &SignatureError{MissingHeader, "there is no Service-Signature header"}
	}
	fields := map[string]string{}
	for _, field := range strings.Split(header, ",") {
		match := fieldForm.FindStringSubmatch(field)
		if match == nil || fields[match[1]] != "" {
			return "", nil, &SignatureError{MalformedHeader, "the header is not t=<iso-8601-timestamp>,v0=<hex-hmac>"}
		}
		fields[match[1]] = match[2]
	}
	if fields["t"] == "" || !digestForm.MatchString(fields["v0"]) {
		return "", nil, &SignatureError{MalformedHeader, "the header has no t, or no v0 of 64 hexadecimal digits"}
	}
	signature, err = hex.DecodeString(fields["v0"])
	return fields["t"], signature, err
}

func parseTime(t string) (time.Time, error) {
	bad := &SignatureError{BadTimestamp, "t is not an ISO 8601 timestamp such as 2026-11-21T10:00:00.123Z"}
	form := timeForm.FindStringSubmatch(t)
	if form == nil {
		return time.Time{}, bad
	}
	if form[2] == "" {
		t += "Z"
	}
	signedAt, err := time.Parse(time.RFC3339Nano, t)
	if err != nil {
		return time.Time{}, bad
	}
	return signedAt, nil
}
