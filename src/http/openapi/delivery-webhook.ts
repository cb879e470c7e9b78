/** What the service sends to a registered URL (spec §4, Delivery). */
export const deliveryWebhook = {
  'transfer.status_changed': {
    post: {
      operationId: 'receiveTransferStatusChanged',
      tags: ['Events and deliveries'],
      summary: 'Sent to your endpoint when the status of a transfer changes',
      description:
        'At least once; order is not promised; de-duplicate on `id`. Verify `Service-Signature`: HMAC-SHA256 of `t + "." + body` keyed with the endpoint\'s secret, and `t` at most 5 minutes old. Answer 2xx within 15 s; 410 disables the endpoint.',
      security: [],
      parameters: [
        header('Service-Signature', 't=2026-11-21T10:00:00.123Z,v0=<lowercase hex HMAC-SHA256>'),
        header('User-Agent', 'Service-Webhooks/1.0'),
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/DeliveredEvent' } } },
      },
      responses: {
        '2XX': { description: 'Received. Anything else is retried: at once, then after 5 m, 30 m, 2 h, 6 h and 24 h.' },
        '410': { description: 'Not wanted any more: the endpoint is disabled.' },
      },
    },
  },
};

function header(name: string, example: string) {
  return { name, in: 'header', required: true, schema: { type: 'string' }, example };
}
