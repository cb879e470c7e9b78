// Made by `npm run client:types` from the service's OpenAPI document. Do not edit.
// Document: a3b7ab3045916a8a8d5b59edbe2dbff3de6df73ade679cd0d276f874453d5c24

export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    Amount: {
      /**
       * Format: int64
       * In minor units of ISO 4217: 1250 is 12.50 EUR, 1,250 JPY or 1.250 KWD.
       */
      value: number;
      /** ISO 4217 */
      currency: string;
    };
    Attempt: {
      /** Format: int64 */
      number: number;
      trigger: "schedule" | "manual" | "recover";
      /** Format: date-time */
      started_at: string;
      /** Format: int64 */
      duration_ms: number;
      response_status: number | null;
      /** Null if the attempt succeeded. */
      error: ("dns" | "refused" | "tls" | "timeout" | "reset" | "protocol" | "blocked_address" | "redirect" | "status") | null;
      url: string;
      /** The signed timestamp, as sent. */
      t: string;
      /** The listed headers that the receiver sent; null if there was no response. Values are cut at 256 characters. `location` is shown without user name, query and fragment. */
      response_headers: {
        [key: string]: string;
      } | null;
      /** The first 4 KiB of the receiver's response as text, by its `Content-Encoding` and charset (UTF-8 if it names none); null if there was no response. */
      response_body: string | null;
      /** What was odd or wrong, in one sentence, even if the attempt succeeded. */
      detail: string | null;
    };
    AttemptCounts: {
      /** Format: int64 */
      succeeded: number;
      /** Format: int64 */
      failed: number;
    };
    AttemptPage: {
      data: components["schemas"]["Attempt"][];
      has_more: boolean;
      /** The `cursor` of the next page; null on the last page, but not of the feed of events. */
      next_cursor: string | null;
    };
    AuthorizationServer: {
      /** Format: uri */
      issuer: string;
      /** Format: uri */
      token_endpoint: string;
      /** Format: uri */
      jwks_uri: string;
      scopes_supported: string[];
      response_types_supported: string[];
      grant_types_supported: string[];
      token_endpoint_auth_methods_supported: string[];
      token_endpoint_auth_signing_alg_values_supported: string[];
    } & {
      [key: string]: unknown;
    };
    ClientKey: {
      kid: string | null;
      /** Null: RS256 and PS256. */
      alg: string | null;
      /** Format: date-time */
      created_at: string;
    };
    ClientKeySet: {
      /** Replaces all keys of the client by these public ones (RFC 7517): RSA of at least 2048 bits, P-256 or Ed25519. Of several, each has a `kid` of its own; `[]` removes all. An `alg` (RS256, PS256, ES256, EdDSA) is then the only one of its key. Members such as `x5c` are ignored. */
      keys: {
        [key: string]: unknown;
      }[];
    };
    ClientKeys: {
      keys: components["schemas"]["ClientKey"][];
    };
    ClientPage: {
      data: components["schemas"]["OperatorClient"][];
      has_more: boolean;
      /** The `cursor` of the next page; null on the last page, but not of the feed of events. */
      next_cursor: string | null;
    };
    ClientPatch: {
      name?: string;
      /** CIDRs that the client may call from; empty: any address. */
      networks?: string[];
      /** Null: `RATE_LIMIT` of the deployment. */
      rate_limit?: number | null;
      /** Null: `MAX_ENDPOINTS` of the deployment. */
      max_endpoints?: number | null;
      /**
       * Format: uri
       * Where the client is told about its endpoints; an endpoint’s URL has the same rules. Never returned.
       */
      notify_url?: string | null;
      /** The key that signs the notifications; required with `notify_url`. Never returned. */
      notify_secret?: string | null;
      /** The secrets of the client are refused, also at the console: only its keys authenticate it. */
      require_private_key?: boolean;
    };
    ClientSecret: {
      /** Format: uuid */
      secret_id: string;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      expires_at: string | null;
      /** Format: date-time */
      revoked_at: string | null;
    };
    ClientSecretCreate: {
      /** When the old secret expires; never if omitted. */
      expire_old_after?: string;
    };
    ComputedSignature: {
      /** The digest that your receiver computed, with or without `v0=` before it. */
      v0: string;
    };
    ConsoleSessionCreate: {
      /**
       * A `viewer` cannot change anything; an `editor` has all scopes of the token. Default: `"viewer"`.
       */
      role?: "viewer" | "editor";
    };
    ConsoleSignInLink: {
      /**
       * Format: uri
       * Opens one console session. Send it to one person, and do not store it.
       */
      url: string;
      /** Format: date-time */
      expires_at: string;
    };
    CreatedClient: {
      /** Format: uuid */
      client_id: string;
      name: string;
      scopes: string[];
      networks: string[];
      /** Null: `RATE_LIMIT` of the deployment. */
      rate_limit: number | null;
      /** Null: `MAX_ENDPOINTS` of the deployment. */
      max_endpoints: number | null;
      /** The host of `notify_url`; null if the client is told nothing. */
      notify_host: string | null;
      /** The secrets of the client are refused, also at the console: only its keys authenticate it. */
      require_private_key: boolean;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      revoked_at: string | null;
      /** Oldest first, with those that have ended. */
      secrets: components["schemas"]["ClientSecret"][];
      /** The public keys that authenticate it, oldest first. */
      keys: components["schemas"]["ClientKey"][];
      /** Format: uuid */
      secret_id: string;
      /** Shown in this response only. */
      client_secret: string;
    };
    CreatedTransfer: {
      /** Format: uuid */
      id: string;
      status: components["schemas"]["TransferStatus"];
      /** Why the transfer failed, was returned or was cancelled; null if no code was given. */
      reason_code: components["schemas"]["ReasonCode"] | null;
      amount: components["schemas"]["Amount"];
      destination: components["schemas"]["Destination"];
      reference: string | null;
      metadata: {
        [key: string]: string;
      };
      /** The `Idempotency-Key` of its creation. */
      idempotency_key: string | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /** Only with 200, in the response to a late repeat. Oldest first. */
      status_history?: components["schemas"]["StatusHistoryEntry"][];
    };
    DeliveredEvent: {
      /**
       * Format: uuid
       * Unique per event: use it to discard duplicates.
       */
      id: string;
      /**
       * Format: date
       * The version of the event format.
       */
      version: string;
      type: string;
      data: components["schemas"]["TransferStatusChangedData"];
      /** UTC, with fractional seconds and no zone designator. */
      created_at: string;
    };
    Delivery: {
      /** Format: uuid */
      id: string;
      /** Format: uuid */
      event_id: string;
      /** Format: uuid */
      webhookId: string;
      /** The endpoint's current URL. */
      url: string;
      status: components["schemas"]["DeliveryStatus"];
      /** Why the delivery ended without success. */
      reason: string | null;
      /** Format: int64 */
      attempt_count: number;
      /**
       * Format: date-time
       * When the next attempt of the retry schedule is due; a manual retry does not change it. Null once the delivery has ended; in the past while an attempt is in flight or late.
       */
      next_attempt_at: string | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      finished_at: string | null;
      event_type: string;
      /** Format: uuid */
      transfer_id: string;
      /** The status that the event reports. */
      transfer_status: components["schemas"]["TransferStatus"];
      /** Null before the first attempt. */
      last_attempt: components["schemas"]["LastAttempt"] | null;
    };
    DeliveryCounts: {
      /** Format: int64 */
      pending: number;
      /** Format: int64 */
      succeeded: number;
      /** Format: int64 */
      failed: number;
      /** Format: int64 */
      cancelled: number;
    };
    DeliveryPage: {
      data: components["schemas"]["Delivery"][];
      has_more: boolean;
      /** The `cursor` of the next page; null on the last page, but not of the feed of events. */
      next_cursor: string | null;
    };
    /**
     * `failed`: all attempts failed, or the receiver responded with 410.
     */
    DeliveryStatus: "pending" | "succeeded" | "failed" | "cancelled";
    DeliveryWithAttempts: {
      /** Format: uuid */
      id: string;
      /** Format: uuid */
      event_id: string;
      /** Format: uuid */
      webhookId: string;
      /** The endpoint's current URL. */
      url: string;
      status: components["schemas"]["DeliveryStatus"];
      /** Why the delivery ended without success. */
      reason: string | null;
      /** Format: int64 */
      attempt_count: number;
      /**
       * Format: date-time
       * When the next attempt of the retry schedule is due; a manual retry does not change it. Null once the delivery has ended; in the past while an attempt is in flight or late.
       */
      next_attempt_at: string | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      finished_at: string | null;
      event_type: string;
      /** Format: uuid */
      transfer_id: string;
      /** The status that the event reports. */
      transfer_status: components["schemas"]["TransferStatus"];
      /** The latest 20 attempts, oldest first. `/deliveries/{id}/attempts` lists all of them. */
      attempts: components["schemas"]["Attempt"][];
      /** The remaining attempts of the retry schedule, if each fails at once. The first is at `next_attempt_at`. Empty once the delivery has ended. */
      planned_attempts: components["schemas"]["PlannedAttempt"][];
    };
    Destination: {
      name: string;
      account: string;
    };
    DisabledPeriod: {
      /** Format: date-time */
      from: string;
      /**
       * Format: date-time
       * Null while the endpoint is still disabled.
       */
      to: string | null;
      reason: "owner" | "operator" | "gone" | "failing";
    };
    Event: {
      /**
       * Format: uuid
       * Unique per event: use it to discard duplicates.
       */
      id: string;
      /**
       * Format: date
       * The version of the event format.
       */
      version: string;
      type: string;
      data: components["schemas"]["TransferStatusChangedData"];
      /** UTC, with fractional seconds and no zone designator. */
      created_at: string;
      /** Number of deliveries in each status. */
      deliveries: components["schemas"]["DeliveryCounts"];
    };
    EventPage: {
      data: components["schemas"]["Event"][];
      has_more: boolean;
      /** The `cursor` of the next page; null on the last page, but not of the feed of events. */
      next_cursor: string | null;
    };
    Health: {
      status: string;
    };
    IssuedClientSecret: {
      /** Format: uuid */
      secret_id: string;
      /** Shown in this response only. */
      client_secret: string;
    };
    JwkSet: {
      keys: {
        [key: string]: unknown;
      }[];
    };
    LastAttempt: {
      /** Format: int64 */
      number: number;
      trigger: "schedule" | "manual" | "recover";
      /** Format: date-time */
      started_at: string;
      /** Format: int64 */
      duration_ms: number;
      response_status: number | null;
      /** Null if the attempt succeeded. */
      error: ("dns" | "refused" | "tls" | "timeout" | "reset" | "protocol" | "blocked_address" | "redirect" | "status") | null;
    };
    Meta: {
      environment: "sandbox" | "production";
      /** The release of the service. */
      version: string;
      /** The version of the event format. */
      event_version: string;
      /** The delays of the retries after the first attempt, in order. */
      retry_delays: string[];
      /** The networks (CIDR) that deliveries come from; empty if the operator has not configured them. */
      egress_addresses: string[];
    };
    NotReady: {
      /** Format: uri */
      type: string;
      title: string;
      status: number;
      detail: string;
      /** Format: uri-reference */
      instance: string;
      /**
       * Stable: branch on this code.
       */
      code: "malformed_request" | "unauthorized" | "invalid_token" | "insufficient_scope" | "network_not_allowed" | "not_found" | "method_not_allowed" | "invalid_transition" | "endpoint_not_active" | "disabled_by_operator" | "cancellation_in_progress" | "recover_in_progress" | "recovery_ended" | "check_in_progress" | "two_secrets" | "no_keys" | "secret_erased" | "idempotency_key_in_use" | "changed_meanwhile" | "payload_too_large" | "unsupported_media_type" | "invalid_request" | "too_many_parameters" | "outside_retention" | "secret_immutable" | "url_not_canonical" | "blocked_address" | "header_not_allowed" | "sandbox_account" | "unknown_sandbox_account" | "endpoint_limit_reached" | "idempotency_key_not_supported" | "idempotency_key_reused" | "rate_limited" | "retry_limit_reached" | "recover_limit_reached" | "console_link_limit_reached" | "statement_limit_reached" | "sandbox_limit_reached" | "check_limit_reached" | "internal_error" | "unavailable";
      /** The value of `X-Request-Id`. */
      request_id: string;
      /** At most 50 entries. A name of more than 128 characters is cut. */
      errors?: components["schemas"]["ProblemError"][];
      /** Missing if the checks took longer than a request may. */
      checks?: components["schemas"]["ReadinessChecks"];
    };
    OpenIdConfiguration: {
      /** Format: uri */
      issuer: string;
      /** Format: uri */
      token_endpoint: string;
      /** Format: uri */
      jwks_uri: string;
      scopes_supported: string[];
      response_types_supported: string[];
      grant_types_supported: string[];
      token_endpoint_auth_methods_supported: string[];
      token_endpoint_auth_signing_alg_values_supported: string[];
      subject_types_supported: string[];
      id_token_signing_alg_values_supported: string[];
    } & {
      [key: string]: unknown;
    };
    OperatorClient: {
      /** Format: uuid */
      client_id: string;
      name: string;
      scopes: string[];
      networks: string[];
      /** Null: `RATE_LIMIT` of the deployment. */
      rate_limit: number | null;
      /** Null: `MAX_ENDPOINTS` of the deployment. */
      max_endpoints: number | null;
      /** The host of `notify_url`; null if the client is told nothing. */
      notify_host: string | null;
      /** The secrets of the client are refused, also at the console: only its keys authenticate it. */
      require_private_key: boolean;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      revoked_at: string | null;
      /** Oldest first, with those that have ended. */
      secrets: components["schemas"]["ClientSecret"][];
      /** The public keys that authenticate it, oldest first. */
      keys: components["schemas"]["ClientKey"][];
    };
    OperatorClientCreate: {
      name: string;
      /** All four if omitted. */
      scopes?: ("transfers:read" | "transfers:write" | "webhooks:read" | "webhooks:write")[];
      /** CIDRs that the client may call from; empty: any address. Default: `[]`. */
      networks?: string[];
      /** Null: `RATE_LIMIT` of the deployment. */
      rate_limit?: number | null;
      /** Null: `MAX_ENDPOINTS` of the deployment. */
      max_endpoints?: number | null;
      /**
       * Format: uri
       * Where the client is told about its endpoints; an endpoint’s URL has the same rules. Never returned.
       */
      notify_url?: string | null;
      /** The key that signs the notifications; required with `notify_url`. Never returned. */
      notify_secret?: string | null;
      /** The secrets of the client are refused, also at the console: only its keys authenticate it. Default: `false`. */
      require_private_key?: boolean;
    };
    OperatorTransfer: {
      /** Format: uuid */
      id: string;
      status: components["schemas"]["TransferStatus"];
      /** Why the transfer failed, was returned or was cancelled; null if no code was given. */
      reason_code: components["schemas"]["ReasonCode"] | null;
      amount: components["schemas"]["Amount"];
      destination: components["schemas"]["Destination"];
      reference: string | null;
      metadata: {
        [key: string]: string;
      };
      /** The `Idempotency-Key` of its creation. */
      idempotency_key: string | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /** Format: uuid */
      client_id: string;
    };
    OperatorTransferPage: {
      data: components["schemas"]["OperatorTransfer"][];
      has_more: boolean;
      /** The `cursor` of the next page; null on the last page, but not of the feed of events. */
      next_cursor: string | null;
    };
    OperatorTransferWithHistory: {
      /** Format: uuid */
      id: string;
      status: components["schemas"]["TransferStatus"];
      /** Why the transfer failed, was returned or was cancelled; null if no code was given. */
      reason_code: components["schemas"]["ReasonCode"] | null;
      amount: components["schemas"]["Amount"];
      destination: components["schemas"]["Destination"];
      reference: string | null;
      metadata: {
        [key: string]: string;
      };
      /** The `Idempotency-Key` of its creation. */
      idempotency_key: string | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /** Oldest first; the first entry is `CREATED`. */
      status_history: components["schemas"]["StatusHistoryEntry"][];
      /** Format: uuid */
      client_id: string;
    };
    PlannedAttempt: {
      /** Format: int64 */
      number: number;
      /** Format: date-time */
      at: string;
    };
    Problem: {
      /** Format: uri */
      type: string;
      title: string;
      status: number;
      detail: string;
      /** Format: uri-reference */
      instance: string;
      /**
       * Stable: branch on this code.
       */
      code: "malformed_request" | "unauthorized" | "invalid_token" | "insufficient_scope" | "network_not_allowed" | "not_found" | "method_not_allowed" | "invalid_transition" | "endpoint_not_active" | "disabled_by_operator" | "cancellation_in_progress" | "recover_in_progress" | "recovery_ended" | "check_in_progress" | "two_secrets" | "no_keys" | "secret_erased" | "idempotency_key_in_use" | "changed_meanwhile" | "payload_too_large" | "unsupported_media_type" | "invalid_request" | "too_many_parameters" | "outside_retention" | "secret_immutable" | "url_not_canonical" | "blocked_address" | "header_not_allowed" | "sandbox_account" | "unknown_sandbox_account" | "endpoint_limit_reached" | "idempotency_key_not_supported" | "idempotency_key_reused" | "rate_limited" | "retry_limit_reached" | "recover_limit_reached" | "console_link_limit_reached" | "statement_limit_reached" | "sandbox_limit_reached" | "check_limit_reached" | "internal_error" | "unavailable";
      /** The value of `X-Request-Id`. */
      request_id: string;
      /** At most 50 entries. A name of more than 128 characters is cut. */
      errors?: components["schemas"]["ProblemError"][];
    };
    ProblemError: {
      /** A JSON Pointer (RFC 6901) into the body. */
      pointer?: string;
      /** The name of a query parameter. */
      parameter?: string;
      code: string;
      detail: string;
    };
    Readiness: {
      status: string;
      checks?: components["schemas"]["ReadinessChecks"];
    };
    ReadinessChecks: {
      postgres: string;
      migrations: string;
      temporal: string;
    };
    ReasonCode: "account_closed" | "account_not_found" | "insufficient_funds" | "limit_exceeded" | "name_mismatch" | "rejected_by_bank" | "compliance" | "duplicate" | "customer_request" | "other";
    ReceiverCheck: {
      /** Format: uuid */
      id: string;
      status: "running" | "passed" | "failed";
      /** Format: date-time */
      started_at: string;
      /**
       * Format: date-time
       * Null while the check runs.
       */
      finished_at: string | null;
      /** In the order in which they are sent; while the check runs, the cases sent so far. */
      cases: components["schemas"]["ReceiverCheckCase"][];
    };
    ReceiverCheckCase: {
      name: "valid" | "duplicate" | "out_of_order" | "unknown_type" | "unknown_field" | "stale_timestamp" | "wrong_secret" | "changed_body" | "missing_signature";
      /**
       * `refused`: any response that is not 2xx.
       */
      expected: "2xx" | "refused";
      /** Null if there was no response. */
      response_status: number | null;
      /** As in an attempt of a delivery; null for a 2xx. */
      error: ("dns" | "refused" | "tls" | "timeout" | "reset" | "protocol" | "blocked_address" | "redirect" | "status") | null;
      passed: boolean;
      /** What is wrong and what to change; null if nothing is. A case that passed may have a hint, such as about a malformed head. */
      hint: string | null;
      /** The request as sent. Without the scope `webhooks:write`, signatures are masked; values of headers of its owner always are. Null if the check ended before this case. */
      request: components["schemas"]["ReceiverCheckRequest"] | null;
    };
    ReceiverCheckRequest: {
      headers: {
        [key: string]: string;
      };
      body: string;
    };
    Recovered: {
      /**
       * Format: uuid
       * The id of the recovery; null if there is nothing to recover.
       */
      id: string | null;
      /**
       * Format: int64
       * Number of restarted deliveries.
       */
      count: number;
      /**
       * Format: int64
       * Number of events that had no delivery and now get one; 0 without `include_missing`.
       */
      missing: number;
      /**
       * Format: int64
       * Number of restarted deliveries that waited for their next attempt; 0 without `include_pending`.
       */
      pending: number;
    };
    Recovery: {
      /** Format: uuid */
      id: string;
      /** Format: date-time */
      since: string;
      /** Format: date-time */
      until: string;
      include_missing: boolean;
      include_pending: boolean;
      /**
       * Format: int64
       * Number of restarted deliveries.
       */
      count: number;
      /**
       * Format: int64
       * Number of events that had no delivery and now get one; 0 without `include_missing`.
       */
      missing: number;
      /**
       * Format: int64
       * Number of restarted deliveries that waited for their next attempt; 0 without `include_pending`.
       */
      pending: number;
      /**
       * Format: int64
       * Number of deliveries that it has queued. Deliveries that fail while it runs are recovered too, so it can exceed `count`, `missing` and `pending` together.
       */
      started: number;
      /**
       * `cancelled` too if the endpoint was disabled or deleted while it ran.
       */
      status: "running" | "completed" | "cancelled";
      /** Format: date-time */
      created_at: string;
      /**
       * Format: date-time
       * Null while the recovery runs.
       */
      finished_at: string | null;
    };
    RecoveryPage: {
      data: components["schemas"]["Recovery"][];
      has_more: boolean;
      /** The `cursor` of the next page; null on the last page, but not of the feed of events. */
      next_cursor: string | null;
    };
    RecoveryRequest: {
      /**
       * Format: date-time
       * The start of the window, inclusive.
       */
      since: string;
      /**
       * Format: date-time
       * The end of the window, exclusive; default: now.
       */
      until?: string;
      /** Also deliver events that have no delivery for this endpoint, because they were made while it was disabled or before it was registered. The window may then be at most 31 days. Default: `false`. */
      include_missing?: boolean;
      /** Also restart pending deliveries that wait for their next planned attempt, so that they are sent now. Those whose attempt is due or in flight stay as they are. Default: `false`. */
      include_pending?: boolean;
    };
    ResponseTimes: {
      /** Format: int64 */
      p50: number | null;
      /** Format: int64 */
      p95: number | null;
    };
    SignatureExplanation: {
      explanation: "match" | "upper_case_digest" | "base64_digest" | "reserialized_body" | "body_with_newline" | "body_without_timestamp" | "missing_dot" | "timestamp_changed" | "secret_with_newline" | "secret_trimmed" | "secret_base64_decoded" | "secret_hex_decoded" | "empty_secret" | "other_endpoint" | "wrong_algorithm" | "unknown";
      /** What to change. */
      detail: string;
    };
    StartedReceiverCheck: {
      /** Format: uuid */
      id: string;
    };
    Statement: {
      /** Format: date-time */
      since: string;
      /** Format: date-time */
      until: string;
      /**
       * Format: int64
       * Number of your events made in [`since`, `until`): the sum of the five numbers below.
       */
      events: number;
      /** Format: int64 */
      succeeded: number;
      /** Format: int64 */
      pending: number;
      /** Format: int64 */
      failed: number;
      /** Format: int64 */
      cancelled: number;
      /**
       * Format: int64
       * Events without a delivery for this endpoint: they were made while it was disabled or before it was registered. `recover` with `include_missing` delivers them.
       */
      missing: number;
      /** Whether every event was delivered successfully. */
      complete: boolean;
      /** True if `until` is more than 60 s ago. Before that, an event may still be added to the window. */
      final: boolean;
      /** SHA-256 of the ids of these events, sorted, each followed by a line feed, in lower-case hexadecimal: your own list of ids has the same digest if it has the same events. */
      digest: string;
      /** A JWS (RS256, `typ: statement+jwt`) over this statement, the client and the endpoint, as proof for third parties; null until `final`. Its key is one of `/.well-known/jwks.json?retired=true` for 13 months. */
      signature: string | null;
      /** The periods in which the endpoint was disabled: the latest 100 that touch the window, oldest first. */
      disabled_periods: components["schemas"]["DisabledPeriod"][];
      /**
       * Format: date-time
       * Periods before this time are not recorded.
       */
      periods_known_since: string;
    };
    StatusChange: {
      status: "CREATED" | "PROCESSING" | "SENT" | "COMPLETED" | "CANCELLED" | "FAILED" | "RETURNED";
      /** Recorded in the status history. */
      reason?: string | null;
      /** Allowed only with the statuses FAILED, RETURNED, CANCELLED. */
      reason_code?: components["schemas"]["ReasonCode"] | null;
    };
    StatusHistoryEntry: {
      status: components["schemas"]["TransferStatus"];
      /** Format: date-time */
      at: string;
      reason: string | null;
      /** Why the transfer failed, was returned or was cancelled; null if no code was given. */
      reason_code: components["schemas"]["ReasonCode"] | null;
    };
    Token: {
      access_token: string;
      token_type: "Bearer";
      /**
       * Format: int64
       * The lifetime of the token in seconds.
       */
      expires_in: number;
      scope: string;
    };
    TokenError: {
      error: string;
      error_description?: string;
    };
    TokenRequest: {
      client_id?: string;
      client_secret?: string;
      /** Instead of a secret: a JWT signed with a key of the client (`private_key_jwt`, RFC 7523). */
      client_assertion?: string;
      /** urn:ietf:params:oauth:client-assertion-type:jwt-bearer */
      client_assertion_type?: string;
      /** The base URL of the API, also the default; `resource` (RFC 8707) is another name for this field. */
      audience?: string;
      grant_type: "client_credentials";
      /** Space-separated; default: all scopes of the client. */
      scope?: string;
    };
    Transfer: {
      /** Format: uuid */
      id: string;
      status: components["schemas"]["TransferStatus"];
      /** Why the transfer failed, was returned or was cancelled; null if no code was given. */
      reason_code: components["schemas"]["ReasonCode"] | null;
      amount: components["schemas"]["Amount"];
      destination: components["schemas"]["Destination"];
      reference: string | null;
      metadata: {
        [key: string]: string;
      };
      /** The `Idempotency-Key` of its creation. */
      idempotency_key: string | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
    };
    TransferCreate: {
      amount: components["schemas"]["Amount"];
      destination: components["schemas"]["Destination"];
      reference?: string | null;
      /** Your own pairs of strings; at most 4096 bytes in total as compact JSON in UTF-8. The name `__proto__` is rejected. */
      metadata?: {
        [key: string]: string;
      };
    };
    TransferPage: {
      data: components["schemas"]["Transfer"][];
      has_more: boolean;
      /** The `cursor` of the next page; null on the last page, but not of the feed of events. */
      next_cursor: string | null;
    };
    TransferStatus: "CREATED" | "PROCESSING" | "SENT" | "COMPLETED" | "CANCELLED" | "FAILED" | "RETURNED";
    TransferStatusChangedData: {
      /**
       * Format: uuid
       * The transfer's.
       */
      id: string;
      /**
       * The new status.
       */
      status: "CREATED" | "PROCESSING" | "SENT" | "COMPLETED" | "CANCELLED" | "FAILED" | "RETURNED";
    };
    TransferWithHistory: {
      /** Format: uuid */
      id: string;
      status: components["schemas"]["TransferStatus"];
      /** Why the transfer failed, was returned or was cancelled; null if no code was given. */
      reason_code: components["schemas"]["ReasonCode"] | null;
      amount: components["schemas"]["Amount"];
      destination: components["schemas"]["Destination"];
      reference: string | null;
      metadata: {
        [key: string]: string;
      };
      /** The `Idempotency-Key` of its creation. */
      idempotency_key: string | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
      /** Oldest first; the first entry is `CREATED`. */
      status_history: components["schemas"]["StatusHistoryEntry"][];
    };
    WebhookEndpoint: {
      /** Format: uuid */
      webhookId: string;
      /** As registered. */
      url: string;
      description: string | null;
      /** Maximum number of concurrent requests to the receiver. Null: the limit of the service. */
      max_concurrency: number | null;
      /** Maximum number of requests to the receiver that start within a second. Null: no limit. */
      max_per_second: number | null;
      /** Signatures beside `Service-Signature`, by the same secret. `standard`: the headers of [Standard Webhooks](https://www.standardwebhooks.com). */
      signatures: "standard"[];
      /** The headers that its owner adds to each request; their values are never returned. */
      headers: components["schemas"]["WebhookEndpointHeader"][];
      enabled: boolean;
      /** What disabled the endpoint: your own update (`owner`), the operator (`operator`), a 410 response of the receiver (`gone`), or days without a successful delivery (`failing`). Null if enabled. */
      disabled_reason: ("owner" | "operator" | "gone" | "failing") | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      updated_at: string;
    };
    WebhookEndpointCreate: {
      /**
       * Format: uri
       * An absolute URL of at most 2048 characters, without credentials or a fragment; `https:` in production. Path and query are sent byte for byte; what a client would rewrite is rejected (`url_not_canonical`). An IP address in it must be public, except in a sandbox on your own machine.
       */
      url: string;
      /** The key that signs the deliveries. It is never returned and cannot be changed. */
      secret: string;
      description?: string | null;
      /** Maximum number of concurrent requests to the receiver. Null: the limit of the service. */
      max_concurrency?: number | null;
      /** Maximum number of requests to the receiver that start within a second. Null: no limit. */
      max_per_second?: number | null;
      /** Signatures beside `Service-Signature`, by the same secret. `standard`: the headers of [Standard Webhooks](https://www.standardwebhooks.com). Default: `[]`. */
      signatures?: "standard"[];
      /** Headers that each attempt and check carries, such as the API key that a gateway asks for. Rejected (`header_not_allowed`): names of the connection, of the delivery, of signatures and traces, and one name twice. */
      headers?: components["schemas"]["WebhookEndpointHeaderCreate"][];
      /** Default: `true`. */
      enabled?: boolean;
    };
    WebhookEndpointHeader: {
      name: string;
    };
    WebhookEndpointHeaderCreate: {
      name: string;
      /** Encrypted, and never returned. */
      value: string;
    };
    WebhookEndpointHeaderUpdate: {
      name: string;
      /** If omitted, the stored value stays. */
      value?: string;
    };
    WebhookEndpointHealth: {
      /** Format: uuid */
      webhookId: string;
      /** Format: date-time */
      last_success_at: string | null;
      /**
       * Format: date-time
       * The latest failed attempt of the last 48 hours.
       */
      last_failure_at: string | null;
      /** Of the latest failure. */
      last_error: ("dns" | "refused" | "tls" | "timeout" | "reset" | "protocol" | "blocked_address" | "redirect" | "status") | null;
      /** Of the latest failure; null if there was no response. */
      last_response_status: number | null;
      /**
       * Format: date-time
       * The first failed attempt after the latest success; null if the latest attempt succeeded.
       */
      failing_since: string | null;
      /**
       * Format: int64
       * Pending deliveries, counted up to 1001, which means more than 1000.
       */
      pending: number;
      /**
       * Format: date-time
       * Null if no delivery is pending.
       */
      next_attempt_at: string | null;
      /**
       * Format: date-time
       * The receiver asked for a pause (`Retry-After` of a 429 or 503): until then, it gets one request at a time. Null: it did not.
       */
      slowed_until: string | null;
      /** Attempts of the current hour and the 23 before it. */
      attempts_24h: components["schemas"]["AttemptCounts"];
      /** Time to the response in these hours; null if there was none. */
      response_ms_24h: components["schemas"]["ResponseTimes"];
    };
    WebhookEndpointPage: {
      data: components["schemas"]["WebhookEndpoint"][];
      has_more: boolean;
      /** The `cursor` of the next page; null on the last page, but not of the feed of events. */
      next_cursor: string | null;
    };
    WebhookEndpointPatch: {
      /**
       * Format: uri
       * An absolute URL of at most 2048 characters, without credentials or a fragment; `https:` in production. Path and query are sent byte for byte; what a client would rewrite is rejected (`url_not_canonical`). An IP address in it must be public, except in a sandbox on your own machine.
       */
      url?: string;
      description?: string | null;
      /** Maximum number of concurrent requests to the receiver. Null: the limit of the service. */
      max_concurrency?: number | null;
      /** Maximum number of requests to the receiver that start within a second. Null: no limit. */
      max_per_second?: number | null;
      /** Signatures beside `Service-Signature`, by the same secret. `standard`: the headers of [Standard Webhooks](https://www.standardwebhooks.com). */
      signatures?: "standard"[] | null;
      /** Replace the headers. */
      headers?: components["schemas"]["WebhookEndpointHeaderUpdate"][] | null;
      enabled?: boolean;
      /** Ignored. */
      webhookId?: unknown;
      /** Ignored. */
      disabled_reason?: unknown;
      /** Ignored. */
      created_at?: unknown;
      /** Ignored. */
      updated_at?: unknown;
    };
    WebhookEndpointUpdate: {
      /**
       * Format: uri
       * An absolute URL of at most 2048 characters, without credentials or a fragment; `https:` in production. Path and query are sent byte for byte; what a client would rewrite is rejected (`url_not_canonical`). An IP address in it must be public, except in a sandbox on your own machine.
       */
      url: string;
      description?: string | null;
      /** Maximum number of concurrent requests to the receiver. Null: the limit of the service. */
      max_concurrency?: number | null;
      /** Maximum number of requests to the receiver that start within a second. Null: no limit. */
      max_per_second?: number | null;
      /** Signatures beside `Service-Signature`, by the same secret. `standard`: the headers of [Standard Webhooks](https://www.standardwebhooks.com). Default: `[]`. */
      signatures?: "standard"[];
      /** Replace the headers. */
      headers?: components["schemas"]["WebhookEndpointHeaderUpdate"][];
      /** Unchanged if omitted. */
      enabled?: boolean;
      /** Ignored. */
      webhookId?: unknown;
      /** Ignored. */
      disabled_reason?: unknown;
      /** Ignored. */
      created_at?: unknown;
      /** Ignored. */
      updated_at?: unknown;
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
  getHealth: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Health"];
        };
      };
    };
  };
  getReadiness: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Readiness"];
        };
      };
    };
  };
  getIndex: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": Record<string, never>;
          "text/html": string;
        };
      };
    };
  };
  getMeta: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Meta"];
        };
      };
    };
  };
  getOpenApi: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": Record<string, never>;
        };
      };
    };
  };
  getDocs: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "text/html": string;
        };
      };
    };
  };
  getGuide: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "text/html": string;
        };
      };
    };
  };
  getGuideMarkdown: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "text/markdown": string;
        };
      };
    };
  };
  getLlmsText: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "text/plain": string;
        };
      };
    };
  };
  getSignatureVectors: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": Record<string, never>;
        };
      };
    };
  };
  requestToken: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["TokenRequest"];
      };
    };
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Token"];
        };
      };
    };
  };
  getJwks: {
    parameters: {
      query?: {
        /** With the keys of the last 13 months: they verify the signatures of older statements. Revoked keys are not among them. */
        retired?: "true";
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["JwkSet"];
        };
      };
    };
  };
  getAuthorizationServer: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["AuthorizationServer"];
        };
      };
    };
  };
  getOpenIdConfiguration: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["OpenIdConfiguration"];
        };
      };
    };
  };
  listWebhookEndpoints: {
    parameters: {
      query?: {
        /** Items per page. A page that would exceed 1 MB has fewer items. */
        limit?: number;
        /** `next_cursor` of the previous page. */
        cursor?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookEndpointPage"];
        };
      };
    };
  };
  registerWebhookEndpoint: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["WebhookEndpointCreate"];
      };
    };
    responses: {
      /** Created */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookEndpoint"];
        };
      };
    };
  };
  getWebhookEndpoint: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        webhookId: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookEndpoint"];
        };
      };
    };
  };
  updateWebhookEndpoint: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        webhookId: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["WebhookEndpointUpdate"];
      };
    };
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookEndpoint"];
        };
      };
    };
  };
  deleteWebhookEndpoint: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        webhookId: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** No Content */
      204: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  patchWebhookEndpoint: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        webhookId: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["WebhookEndpointPatch"];
      };
    };
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookEndpoint"];
        };
      };
    };
  };
  getWebhookEndpointHealth: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        webhookId: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookEndpointHealth"];
        };
      };
    };
  };
  getWebhookEndpointStatement: {
    parameters: {
      query?: {
        /** The start of the window, inclusive; default: 24 hours ago, or the registration of the endpoint if that is later. */
        since?: string;
        /** The end of the window, exclusive; default: now. */
        until?: string;
      };
      header?: never;
      path: {
        webhookId: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Statement"];
        };
      };
    };
  };
  listTransfers: {
    parameters: {
      query?: {
        status?: "CREATED" | "PROCESSING" | "SENT" | "COMPLETED" | "CANCELLED" | "FAILED" | "RETURNED";
        /** Only transfers with exactly this reference. */
        reference?: string;
        /** Only items created after this time, to the millisecond. */
        created_after?: string;
        /** Only items created before this time, to the millisecond. */
        created_before?: string;
        /** Items per page. A page that would exceed 1 MB has fewer items. */
        limit?: number;
        /** `next_cursor` of the previous page. */
        cursor?: string;
        /** Only the transfer that was created with this `Idempotency-Key`, unquoted. */
        idempotency_key?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["TransferPage"];
        };
      };
    };
  };
  createTransfer: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["TransferCreate"];
      };
    };
    responses: {
      /** What an earlier request with the same `Idempotency-Key` made, as it is now, more than 24 hours later. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["CreatedTransfer"];
        };
      };
      /** Created */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["CreatedTransfer"];
        };
      };
    };
  };
  getTransfer: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["TransferWithHistory"];
        };
      };
    };
  };
  cancelTransfer: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Transfer"];
        };
      };
    };
  };
  listEvents: {
    parameters: {
      query?: {
        /** Only events that have no delivery for this endpoint. `created_after` is then required and at most 31 days ago. A page scans at most 10,000 events, so it may be short or empty even if `has_more` is true. */
        missing_from?: string;
        type?: "transfer.status_changed";
        /** Only events that have a delivery with this status. Not with `missing_from`. */
        outcome?: "pending" | "succeeded" | "failed" | "cancelled";
        transfer_id?: string;
        /** Only items created after this time, to the millisecond. */
        created_after?: string;
        /** Only items created before this time, to the millisecond. */
        created_before?: string;
        /** `oldest`: the feed, oldest first. Every page has a `next_cursor`; read on from it at any time within the retention period. No event ever appears before it, so none is missed. An event appears about a second after its change, later while an older change is being committed. Not with `missing_from` or `outcome`. */
        order?: "newest" | "oldest";
        /** Items per page. A page that would exceed 1 MB has fewer items. */
        limit?: number;
        /** `next_cursor` of the previous page. */
        cursor?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["EventPage"];
        };
      };
    };
  };
  getEvent: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Event"];
        };
      };
    };
  };
  listEndpointDeliveries: {
    parameters: {
      query?: {
        status?: "pending" | "succeeded" | "failed" | "cancelled";
        /** Items per page. A page that would exceed 1 MB has fewer items. */
        limit?: number;
        /** `next_cursor` of the previous page. */
        cursor?: string;
      };
      header?: never;
      path: {
        webhookId: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["DeliveryPage"];
        };
      };
    };
  };
  listEventDeliveries: {
    parameters: {
      query?: {
        status?: "pending" | "succeeded" | "failed" | "cancelled";
        /** Items per page. A page that would exceed 1 MB has fewer items. */
        limit?: number;
        /** `next_cursor` of the previous page. */
        cursor?: string;
      };
      header?: never;
      path: {
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["DeliveryPage"];
        };
      };
    };
  };
  listDeliveries: {
    parameters: {
      query?: {
        status?: "pending" | "succeeded" | "failed" | "cancelled";
        /** Items per page. A page that would exceed 1 MB has fewer items. */
        limit?: number;
        /** `next_cursor` of the previous page. */
        cursor?: string;
        webhookId?: string;
        event_id?: string;
        transfer_id?: string;
        /** Only items created after this time, to the millisecond. */
        created_after?: string;
        /** Only items created before this time, to the millisecond. */
        created_before?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["DeliveryPage"];
        };
      };
    };
  };
  getDelivery: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["DeliveryWithAttempts"];
        };
      };
    };
  };
  listAttempts: {
    parameters: {
      query?: {
        /** Items per page. A page that would exceed 1 MB has fewer items. */
        limit?: number;
        /** `next_cursor` of the previous page. */
        cursor?: string;
      };
      header?: never;
      path: {
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["AttemptPage"];
        };
      };
    };
  };
  retryDelivery: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** Accepted */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Delivery"];
        };
      };
    };
  };
  explainSignature: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        id: string;
        number: number;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ComputedSignature"];
      };
    };
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["SignatureExplanation"];
        };
      };
    };
  };
  listOperatorTransfers: {
    parameters: {
      query?: {
        status?: "CREATED" | "PROCESSING" | "SENT" | "COMPLETED" | "CANCELLED" | "FAILED" | "RETURNED";
        /** Only transfers with exactly this reference. */
        reference?: string;
        /** Only items created after this time, to the millisecond. */
        created_after?: string;
        /** Only items created before this time, to the millisecond. */
        created_before?: string;
        /** Items per page. A page that would exceed 1 MB has fewer items. */
        limit?: number;
        /** `next_cursor` of the previous page. */
        cursor?: string;
        /** Only transfers of this client. */
        client_id?: string;
        /** The end of the list that the first page has. */
        order?: "newest" | "oldest";
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["OperatorTransferPage"];
        };
      };
    };
  };
  getOperatorTransfer: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["OperatorTransferWithHistory"];
        };
      };
    };
  };
  listClients: {
    parameters: {
      query?: {
        /** Only clients with this text in their name, in any case. */
        name?: string;
        /** Items per page. A page that would exceed 1 MB has fewer items. */
        limit?: number;
        /** `next_cursor` of the previous page. */
        cursor?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ClientPage"];
        };
      };
    };
  };
  createClient: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["OperatorClientCreate"];
      };
    };
    responses: {
      /** Created */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["CreatedClient"];
        };
      };
    };
  };
  getClient: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["OperatorClient"];
        };
      };
    };
  };
  patchClient: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ClientPatch"];
      };
    };
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["OperatorClient"];
        };
      };
    };
  };
  setClientKeys: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ClientKeySet"];
      };
    };
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ClientKeys"];
        };
      };
    };
  };
  createClientSecret: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ClientSecretCreate"];
      };
    };
    responses: {
      /** Created */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["IssuedClientSecret"];
        };
      };
    };
  };
  revokeClientSecret: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        id: string;
        secret_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** No Content */
      204: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  revokeClient: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** No Content */
      204: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  createClientConsoleSession: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ConsoleSessionCreate"];
      };
    };
    responses: {
      /** Created */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ConsoleSignInLink"];
        };
      };
    };
  };
  setTransferStatus: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["StatusChange"];
      };
    };
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Transfer"];
        };
      };
    };
  };
  setSandboxTransferStatus: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["StatusChange"];
      };
    };
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Transfer"];
        };
      };
    };
  };
  createConsoleSession: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ConsoleSessionCreate"];
      };
    };
    responses: {
      /** Created */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ConsoleSignInLink"];
        };
      };
    };
  };
  recoverWebhookEndpoint: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        webhookId: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["RecoveryRequest"];
      };
    };
    responses: {
      /** Accepted */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Recovered"];
        };
      };
    };
  };
  listRecoveries: {
    parameters: {
      query?: {
        /** Items per page. A page that would exceed 1 MB has fewer items. */
        limit?: number;
        /** `next_cursor` of the previous page. */
        cursor?: string;
      };
      header?: never;
      path: {
        webhookId: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["RecoveryPage"];
        };
      };
    };
  };
  getRecovery: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        webhookId: string;
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Recovery"];
        };
      };
    };
  };
  cancelRecovery: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        webhookId: string;
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Recovery"];
        };
      };
    };
  };
  checkReceiver: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        webhookId: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** Accepted */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["StartedReceiverCheck"];
        };
      };
    };
  };
  getReceiverCheck: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        webhookId: string;
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** OK */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReceiverCheck"];
        };
      };
    };
  };
}

export interface Operation {
  method: string;
  path: string;
  /** Whether it needs no token. */
  open?: true;
  /** Whether it is at the host of the token endpoint. */
  auth?: true;
  /** Whether it takes an `Idempotency-Key`, under which its response is kept. None whose response is a secret does. */
  keyed?: true;
}

export const OPERATIONS: Record<keyof operations, Operation> = {
  "getHealth": {
    "method": "GET",
    "path": "/healthz",
    "open": true
  },
  "getReadiness": {
    "method": "GET",
    "path": "/readyz",
    "open": true
  },
  "getIndex": {
    "method": "GET",
    "path": "/",
    "open": true
  },
  "getMeta": {
    "method": "GET",
    "path": "/meta",
    "open": true
  },
  "getOpenApi": {
    "method": "GET",
    "path": "/openapi.json",
    "open": true
  },
  "getDocs": {
    "method": "GET",
    "path": "/docs",
    "open": true
  },
  "getGuide": {
    "method": "GET",
    "path": "/docs/guide",
    "open": true
  },
  "getGuideMarkdown": {
    "method": "GET",
    "path": "/docs/guide.md",
    "open": true
  },
  "getLlmsText": {
    "method": "GET",
    "path": "/llms.txt",
    "open": true
  },
  "getSignatureVectors": {
    "method": "GET",
    "path": "/docs/signature-vectors.json",
    "open": true
  },
  "requestToken": {
    "method": "POST",
    "path": "/oauth/token",
    "open": true,
    "auth": true
  },
  "getJwks": {
    "method": "GET",
    "path": "/.well-known/jwks.json",
    "open": true,
    "auth": true
  },
  "getAuthorizationServer": {
    "method": "GET",
    "path": "/.well-known/oauth-authorization-server",
    "open": true,
    "auth": true
  },
  "getOpenIdConfiguration": {
    "method": "GET",
    "path": "/.well-known/openid-configuration",
    "open": true,
    "auth": true
  },
  "registerWebhookEndpoint": {
    "method": "POST",
    "path": "/webhook-endpoints",
    "keyed": true
  },
  "listWebhookEndpoints": {
    "method": "GET",
    "path": "/webhook-endpoints"
  },
  "getWebhookEndpoint": {
    "method": "GET",
    "path": "/webhook-endpoints/{webhookId}"
  },
  "updateWebhookEndpoint": {
    "method": "PUT",
    "path": "/webhook-endpoints/{webhookId}"
  },
  "patchWebhookEndpoint": {
    "method": "PATCH",
    "path": "/webhook-endpoints/{webhookId}"
  },
  "deleteWebhookEndpoint": {
    "method": "DELETE",
    "path": "/webhook-endpoints/{webhookId}"
  },
  "getWebhookEndpointHealth": {
    "method": "GET",
    "path": "/webhook-endpoints/{webhookId}/health"
  },
  "getWebhookEndpointStatement": {
    "method": "GET",
    "path": "/webhook-endpoints/{webhookId}/statement"
  },
  "createTransfer": {
    "method": "POST",
    "path": "/transfers",
    "keyed": true
  },
  "listTransfers": {
    "method": "GET",
    "path": "/transfers"
  },
  "getTransfer": {
    "method": "GET",
    "path": "/transfers/{id}"
  },
  "cancelTransfer": {
    "method": "POST",
    "path": "/transfers/{id}/cancel",
    "keyed": true
  },
  "listEvents": {
    "method": "GET",
    "path": "/events"
  },
  "getEvent": {
    "method": "GET",
    "path": "/events/{id}"
  },
  "listEndpointDeliveries": {
    "method": "GET",
    "path": "/webhook-endpoints/{webhookId}/deliveries"
  },
  "listEventDeliveries": {
    "method": "GET",
    "path": "/events/{id}/deliveries"
  },
  "listDeliveries": {
    "method": "GET",
    "path": "/deliveries"
  },
  "getDelivery": {
    "method": "GET",
    "path": "/deliveries/{id}"
  },
  "listAttempts": {
    "method": "GET",
    "path": "/deliveries/{id}/attempts"
  },
  "retryDelivery": {
    "method": "POST",
    "path": "/deliveries/{id}/retry",
    "keyed": true
  },
  "explainSignature": {
    "method": "POST",
    "path": "/deliveries/{id}/attempts/{number}/explain-signature",
    "keyed": true
  },
  "listOperatorTransfers": {
    "method": "GET",
    "path": "/operator/transfers"
  },
  "getOperatorTransfer": {
    "method": "GET",
    "path": "/operator/transfers/{id}"
  },
  "createClient": {
    "method": "POST",
    "path": "/operator/clients"
  },
  "listClients": {
    "method": "GET",
    "path": "/operator/clients"
  },
  "getClient": {
    "method": "GET",
    "path": "/operator/clients/{id}"
  },
  "patchClient": {
    "method": "PATCH",
    "path": "/operator/clients/{id}"
  },
  "setClientKeys": {
    "method": "PUT",
    "path": "/operator/clients/{id}/jwks"
  },
  "createClientSecret": {
    "method": "POST",
    "path": "/operator/clients/{id}/secrets"
  },
  "revokeClientSecret": {
    "method": "DELETE",
    "path": "/operator/clients/{id}/secrets/{secret_id}"
  },
  "revokeClient": {
    "method": "POST",
    "path": "/operator/clients/{id}/revoke",
    "keyed": true
  },
  "createClientConsoleSession": {
    "method": "POST",
    "path": "/operator/clients/{id}/console-sessions"
  },
  "setTransferStatus": {
    "method": "POST",
    "path": "/operator/transfers/{id}/status",
    "keyed": true
  },
  "setSandboxTransferStatus": {
    "method": "POST",
    "path": "/sandbox/transfers/{id}/status",
    "keyed": true
  },
  "createConsoleSession": {
    "method": "POST",
    "path": "/console-sessions"
  },
  "recoverWebhookEndpoint": {
    "method": "POST",
    "path": "/webhook-endpoints/{webhookId}/recover",
    "keyed": true
  },
  "listRecoveries": {
    "method": "GET",
    "path": "/webhook-endpoints/{webhookId}/recoveries"
  },
  "getRecovery": {
    "method": "GET",
    "path": "/webhook-endpoints/{webhookId}/recoveries/{id}"
  },
  "cancelRecovery": {
    "method": "POST",
    "path": "/webhook-endpoints/{webhookId}/recoveries/{id}/cancel",
    "keyed": true
  },
  "checkReceiver": {
    "method": "POST",
    "path": "/webhook-endpoints/{webhookId}/checks",
    "keyed": true
  },
  "getReceiverCheck": {
    "method": "GET",
    "path": "/webhook-endpoints/{webhookId}/checks/{id}"
  }
};
