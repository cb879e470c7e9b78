using System;
using System.Collections.Generic;
using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;

namespace TransferService
{
    /// <summary>The delivery must be rejected. The message never contains the secret.</summary>
    public sealed class SignatureException : Exception
    {
        internal SignatureException(string code, string message) : base(message) { Code = code; }

        /// <summary>
        /// Stable: missing_header, malformed_header, bad_timestamp, signature_mismatch, too_old or too_new.
        /// </summary>
        public string Code { get; }
    }

    /// <summary>
    /// Verifies the signature of the transfer service's webhook deliveries. This file depends on the standard library
    /// alone and may be copied.
    /// </summary>
    public static class Webhooks
    {
        private static readonly Regex Field = new Regex(@"\A\s*([a-z][a-z0-9]*)=(\S+)\s*\z");
        private static readonly Regex Digest = new Regex(@"\A[0-9a-fA-F]{64}\z");
        private static readonly Regex Time = new Regex(
            @"\A([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,7})[0-9]*)?(Z|[+-][0-9]{2}:[0-9]{2})?\z");

        /// <param name="header">the Service-Signature header as received, null if there is none</param>
        /// <param name="body">the body exactly as received, before any JSON parser</param>
        /// <param name="secret">the endpoint's secret as it was registered</param>
        /// <param name="now">the receiver's time; the current time by default</param>
        /// <param name="tolerance">how far t may be from now, before or after it; 5 minutes by default</param>
        /// <returns>the time at which the delivery was signed</returns>
        /// <exception cref="SignatureException" />
        public static DateTimeOffset Verify(
            string header, byte[] body, string secret, DateTimeOffset? now = null, TimeSpan? tolerance = null)
        {
            if (body == null) throw new ArgumentNullException(nameof(body));
            if (string.IsNullOrEmpty(secret)) throw new ArgumentException("secret is empty", nameof(secret));
            var limit = tolerance ?? TimeSpan.FromMinutes(5);
            if (limit < TimeSpan.Zero) throw new ArgumentException("tolerance is negative", nameof(tolerance));
            var fields = Parse(header);
            var signedAt = ParseTime(fields["t"]);
            if (!AreEqual(Hmac(secret, fields["t"], body), Bytes(fields["v0"])))
            {
                throw new SignatureException("signature_mismatch",
                    "the signature does not match: verify the raw body as received, with this endpoint's secret");
            }
            var age = (now ?? DateTimeOffset.UtcNow) - signedAt;
            if (age > limit)
            {
                throw new SignatureException("too_old",
                    "the delivery was signed too long ago: a replay, or a clock that is ahead");
            }
            if (-age > limit)
            {
                throw new SignatureException("too_new",
                    "the delivery was signed in the future: set this machine's clock by NTP");
            }
            return signedAt;
        }

        private static Dictionary<string, string> Parse(string header)
        {
            if (string.IsNullOrEmpty(header))
            {
                throw new SignatureException("missing_header", "there is no Service-Signature header");
            }
            var fields = new Dictionary<string, string>();
            foreach (var field in header.Split(','))
            {
                var match = Field.Match(field);
                if (!match.Success || fields.ContainsKey(match.Groups[1].Value))
                {
                    throw new SignatureException("malformed_header",
                        "the header is not t=<iso-8601-timestamp>,v0=<hex-hmac>");
                }
                fields[match.Groups[1].Value] = match.Groups[2].Value;
            }
            if (!fields.ContainsKey("t") || !fields.TryGetValue("v0", out var v0) || !Digest.IsMatch(v0))
            {
                throw new SignatureException("malformed_header",
                    "the header has no t, or no v0 of 64 hexadecimal digits");
            }
            return fields;
        }

        private static DateTimeOffset ParseTime(string t)
        {
            var match = Time.Match(t);
            if (match.Success)
            {
                var fraction = match.Groups[2].Value.PadRight(7, '0');
                var zone = match.Groups[3].Success && match.Groups[3].Value != "Z" ? match.Groups[3].Value : "+00:00";
                if (DateTimeOffset.TryParseExact(
                    match.Groups[1].Value + "." + fraction + zone, "yyyy-MM-ddTHH:mm:ss.fffffffzzz",
                    CultureInfo.InvariantCulture, DateTimeStyles.None, out var time))
                {
                    return time;
                }
            }
            throw new SignatureException("bad_timestamp",
                "t is not an ISO 8601 timestamp such as 2026-11-21T10:00:00.123Z");
        }

        private static byte[] Hmac(string secret, string t, byte[] body)
        {
            var start = Encoding.UTF8.GetBytes(t + ".");
            var signed = new byte[start.Length + body.Length];
            start.CopyTo(signed, 0);
            body.CopyTo(signed, start.Length);
            using (var hmac = new HMACSHA256(Encoding.UTF8.GetBytes(secret))) return hmac.ComputeHash(signed);
        }

        private static byte[] Bytes(string hex)
        {
            var bytes = new byte[hex.Length / 2];
            for (var i = 0; i < bytes.Length; i++) bytes[i] = Convert.ToByte(hex.Substring(2 * i, 2), 16);
            return bytes;
        }

        /// <summary>In constant time; netstandard2.0 has no CryptographicOperations.</summary>
        private static bool AreEqual(byte[] a, byte[] b)
        {
            var difference = a.Length ^ b.Length;
            for (var i = 0; i < a.Length && i < b.Length; i++) difference |= a[i] ^ b[i];
            return difference == 0;
        }
    }
}
