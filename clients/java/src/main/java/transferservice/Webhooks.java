package transferservice;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Verifies the signature of the transfer service's webhook deliveries. This file depends on the standard library alone
 * and may be copied.
 */
public final class Webhooks {
    public static final Duration DEFAULT_TOLERANCE = Duration.ofMinutes(5);

    private static final Pattern FIELD = Pattern.compile("\\s*([a-z][a-z0-9]*)=(\\S+)\\s*");
    private static final Pattern DIGEST = Pattern.compile("[0-9a-fA-F]{64}");
    private static final Pattern TIME = Pattern.compile(
            "(\\d{4}-\\d\\d-\\d\\dT(?!24)\\d\\d:\\d\\d:\\d\\d)(?:\\.(\\d{1,9})\\d*)?(Z|[+-]\\d\\d:\\d\\d)?");

    private Webhooks() {}

    /** The delivery must be rejected. The message never contains the secret. */
    public static final class SignatureException extends Exception {
        private static final long serialVersionUID = 1;
        private final String code;

        private SignatureException(String code, String message) {
            super(message);
            this.code = code;
        }

        /** Stable: missing_header, malformed_header, bad_timestamp, signature_mismatch, too_old or too_new. */
        public String code() {
            return code;
        }
    }

    /**
     * Verifies a delivery at the current time.
     *
     * @param header the Service-Signature header as received, null if there is none
     * @param body the body exactly as received, before any JSON parser
     * @param secret the endpoint's secret as it was registered
     * @return the time at which the delivery was signed
     */
    public static Instant verify(String header, byte[] body, String secret) throws SignatureException {
        return verify(header, body, secret, Instant.now(), DEFAULT_TOLERANCE);
    }

    /** Verifies a delivery at a given time. */
    public static Instant verify(String header, byte[] body, String secret, Instant now, Duration tolerance)
            throws SignatureException {
        if (secret.isEmpty()) throw new IllegalArgumentException("secret is empty");
        if (tolerance.isNegative()) throw new IllegalArgumentException("tolerance is negative");
        Map<String, String> fields = parse(header);
        String t = fields.get("t");
        Instant signedAt = parseTime(t);
        if (!MessageDigest.isEqual(hmac(secret, t, body), HexFormat.of().parseHex(fields.get("v0")))) {
            throw new SignatureException("signature_mismatch",
                    "the signature does not match: verify the raw body as received, with this endpoint's secret");
        }
        Duration age = Duration.between(signedAt, now);
        if (age.compareTo(tolerance) > 0) {
            throw new SignatureException("too_old",
                    "the delivery was signed too long ago: a replay, or a clock that is ahead");
        }
        if (age.negated().compareTo(tolerance) > 0) {
            throw new SignatureException("too_new",
                    "the delivery was signed in the future: set this machine's clock by NTP");
        }
        return signedAt;
    }

    private static Map<String, String> parse(String header) throws SignatureException {
        if (header == null || header.isEmpty()) {
            throw new SignatureException("missing_header", "there is no Service-Signature header");
        }
        Map<String, String> fields = new HashMap<>();
        for (String field : header.split(",", -1)) {
            Matcher match = FIELD.matcher(field);
            if (!match.matches() || fields.put(match.group(1), match.group(2)) != null) {
                throw new SignatureException("malformed_header",
                        "the header is not t=<iso-8601-timestamp>,v0=<hex-hmac>");
            }
        }
        if (!fields.containsKey("t") || !DIGEST.matcher(fields.getOrDefault("v0", "")).matches()) {
            throw new SignatureException("malformed_header",
                    "the header has no t, or no v0 of 64 hexadecimal digits");
        }
        return fields;
    }

    private static Instant parseTime(String t) throws SignatureException {
        Matcher match = TIME.matcher(t);
        if (match.matches()) {
            String fraction = match.group(2) == null ? "" : "." + match.group(2);
            String zone = match.group(3) == null ? "Z" : match.group(3);
            try {
                return OffsetDateTime.parse(match.group(1) + fraction + zone).toInstant();
            } catch (DateTimeException invalid) {
                // Falls through to the error.
            }
        }
        throw new SignatureException("bad_timestamp",
                "t is not an ISO 8601 timestamp such as 2026-11-21T10:00:00.123Z");
    }

    private static byte[] hmac(String secret, String t, byte[] body) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
            mac.update((t + ".").getBytes(StandardCharsets.UTF_8));
            return mac.doFinal(body);
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException(impossible); // every Java platform has HmacSHA256
        }
    }
}
