/** A valid request for a transfer, with the overrides of a test. */
export function transferRequest(overrides: Record<string, unknown> = {}) {
  return {
    amount: { value: 12_500, currency: 'EUR' },
    destination: { name: 'Ada Lovelace', account: 'DE89370400440532013000' },
    reference: 'Invoice 2026-117',
    metadata: { order: '4711' },
    ...overrides,
  };
}

export const SECRET = 'a-secret-of-16-characters-or-more';

export function endpointRequest(overrides: Record<string, unknown> = {}) {
  return { url: 'https://example.com/hooks', secret: SECRET, description: 'Orders', ...overrides };
}
