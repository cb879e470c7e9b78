# frozen_string_literal: true

require 'openssl'
require 'time'

# Verifies the signature of the transfer service's webhook deliveries.
# This file depends on the standard library alone and may be copied.
module TransferServiceWebhooks
  # The delivery must be rejected. `code` is stable: missing_header, malformed_header, bad_timestamp,
  # signature_mismatch, too_old or too_new.
  class SignatureError < StandardError
    attr_reader :code

    def initialize(code, message)
      super(message)
      @code = code
    end
  end

  FIELD = /\A\s*([a-z][a-z0-9]*)=(\S+)\s*\z/.freeze
  DIGEST = /\A[0-9a-fA-F]{64}\z/.freeze
  TIME = /\A\d{4}-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)?\z/.freeze
  private_constant :FIELD, :DIGEST, :TIME

  module_function

  # @param header [String, nil] the Service-Signature header as received
  # @param body [String] the body exactly as received, before any JSON parser
  # @param secret [String] the endpoint's secret as it was registered
  # @param now [Time] the receiver's time
  # @return [Time] the time at which the delivery was signed
  # @raise [SignatureError]
  def verify(header, body, secret, now: Time.now, tolerance_seconds: 300)
    raise ArgumentError, 'body must be the raw body of the request, not the parsed JSON' unless body.is_a?(String)
    raise ArgumentError, 'secret is empty' if secret.empty?
    raise ArgumentError, 'tolerance_seconds must be 0 or more' unless tolerance_seconds >= 0

    t, v0 = parse(header)
    signed_at = parse_time(t)
    expected = OpenSSL::HMAC.hexdigest('SHA256', secret, "#{t}.".b + body.b)
    unless OpenSSL.fixed_length_secure_compare(expected, v0.downcase)
      raise SignatureError.new('signature_mismatch',
                               "the signature does not match: verify the raw body as received, with this endpoint's secret")
    end
    age = now.to_r - signed_at.to_r
    if age > tolerance_seconds
      raise SignatureError.new('too_old', 'the delivery was signed too long ago: a replay, or a clock that is ahead')
    end
    if -age > tolerance_seconds
      raise SignatureError.new('too_new', "the delivery was signed in the future: set this machine's clock by NTP")
    end

    signed_at
  end

  def parse(header)
    raise SignatureError.new('missing_header', 'there is no Service-Signature header') if header.nil? || header.empty?

    fields = {}
    # A field that is not ASCII does not match, whatever encoding the server gave the header.
    header.b.split(',', -1).each do |field|
      match = FIELD.match(field)
      if match.nil? || fields.key?(match[1])
        raise SignatureError.new('malformed_header', 'the header is not t=<iso-8601-timestamp>,v0=<hex-hmac>')
      end

      fields[match[1]] = match[2]
    end
    unless fields.key?('t') && DIGEST.match?(fields['v0'].to_s)
      raise SignatureError.new('malformed_header', 'the header has no t, or no v0 of 64 hexadecimal digits')
    end

    [fields['t'], fields['v0']]
  end

  def parse_time(t)
    match = TIME.match(t)
    # Time.iso8601 would turn the hour 24 and 30 February into the next day.
    if match && Date.valid_date?(t[0, 4].to_i, match[1].to_i, match[2].to_i) && match[3].to_i < 24
      return Time.iso8601(match[6] ? t : "#{t}Z")
    end

    raise ArgumentError
  rescue ArgumentError
    raise SignatureError.new('bad_timestamp', 't is not an ISO 8601 timestamp such as 2026-11-21T10:00:00.123Z')
  end

  private_class_method :parse, :parse_time
end
