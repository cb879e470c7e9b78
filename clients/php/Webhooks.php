<?php

/* Verifies the signature of the transfer service's webhook deliveries. This file needs no extension and may be copied. */

declare(strict_types=1);

namespace TransferService;

use DateTimeImmutable;
use DateTimeZone;
use InvalidArgumentException;
use RuntimeException;

/** The delivery must be rejected. $reason is stable; the message never contains the secret. */
final class SignatureError extends RuntimeException
{
    /**
     * @param string $reason missing_header, malformed_header, bad_timestamp, signature_mismatch, too_old or too_new
     */
    public function __construct(public readonly string $reason, string $message)
    {
        parent::__construct($message);
    }
}

final class Webhooks
{
    private const TIME = '/^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)?$/D';

    /**
     * @param ?string $header the Service-Signature header as received, null if there is none
     * @param string $body the body exactly as received, before any JSON parser
     * @param string $secret the endpoint's secret as it was registered
     * @param ?DateTimeImmutable $now the receiver's time; the current time by default
     * @return DateTimeImmutable the time at which the delivery was signed
     * @throws SignatureError
     */
    public static function verify(
        ?string $header,
        string $body,
        #[\SensitiveParameter] string $secret,
        ?DateTimeImmutable $now = null,
        int $toleranceSeconds = 300,
    ): DateTimeImmutable {
        if ($secret === '') {
            throw new InvalidArgumentException('secret is empty');
        }
        if ($toleranceSeconds < 0) {
            throw new InvalidArgumentException('toleranceSeconds must be 0 or more');
        }
        [$t, $v0] = self::parse($header);
        $signedAt = self::parseTime($t);
        if (!hash_equals(hash_hmac('sha256', $t . '.' . $body, $secret), strtolower($v0))) {
            throw new SignatureError(
                'signature_mismatch',
                'the signature does not match: verify the raw body as received, with this endpoint\'s secret',
            );
        }
        $now ??= new DateTimeImmutable();
        if ($signedAt < $now->modify("-$toleranceSeconds seconds")) {
            throw new SignatureError('too_old', 'the delivery was signed too long ago: a replay, or a clock that is ahead');
        }
        if ($signedAt > $now->modify("+$toleranceSeconds seconds")) {
            throw new SignatureError('too_new', 'the delivery was signed in the future: set this machine\'s clock by NTP');
        }
        return $signedAt;
    }

    /** @return array{string, string} t and v0 */
    private static function parse(?string $header): array
    {
        if ($header === null || $header === '') {
            throw new SignatureError('missing_header', 'there is no Service-Signature header');
        }
        $fields = [];
        foreach (explode(',', $header) as $field) {
            if (preg_match('/^\s*([a-z][a-z0-9]*)=(\S+)\s*$/D', $field, $match) !== 1 || isset($fields[$match[1]])) {
                throw new SignatureError('malformed_header', 'the header is not t=<iso-8601-timestamp>,v0=<hex-hmac>');
            }
            $fields[$match[1]] = $match[2];
        }
        if (!isset($fields['t']) || preg_match('/^[0-9a-f]{64}$/iD', $fields['v0'] ?? '') !== 1) {
            throw new SignatureError('malformed_header', 'the header has no t, or no v0 of 64 hexadecimal digits');
        }
        return [$fields['t'], $fields['v0']];
    }

    private static function parseTime(string $t): DateTimeImmutable
    {
        if (preg_match(self::TIME, $t, $match, PREG_UNMATCHED_AS_NULL) === 1) {
            [, $year, $month, $day, $hour, $minute, $second, $fraction, $zone] = $match;
            // DateTimeImmutable would turn the hour 25 into the next day.
            if (checkdate((int) $month, (int) $day, (int) $year) && $hour < 24 && $minute < 60 && $second < 60) {
                $micros = substr(str_pad($fraction ?? '', 6, '0'), 0, 6);
                $text = "$year-$month-{$day}T$hour:$minute:$second.$micros" . ($zone ?? 'Z');
                $time = DateTimeImmutable::createFromFormat('Y-m-d\TH:i:s.uP', $text, new DateTimeZone('UTC'));
                if ($time !== false) {
                    return $time;
                }
            }
        }
        throw new SignatureError('bad_timestamp', 't is not an ISO 8601 timestamp such as 2026-11-21T10:00:00.123Z');
    }
}
