import type { Client, ClientSecretInfo } from '../auth/clients.js';
import type { Fields } from './view/fields.js';
import type { Table } from './view/table.js';

export function presentClient(client: Client) {
  return {
    client_id: client.id,
    name: client.name,
    scopes: client.scopes,
    networks: client.networks,
    created_at: client.createdAt.toISOString(),
    revoked_at: client.revokedAt?.toISOString() ?? null,
    erased_at: client.erasedAt?.toISOString() ?? null,
  };
}

export function presentSecret(secret: ClientSecretInfo) {
  return {
    secret_id: secret.id,
    created_at: secret.createdAt.toISOString(),
    expires_at: secret.expiresAt?.toISOString() ?? null,
    revoked_at: secret.revokedAt?.toISOString() ?? null,
  };
}

export function clientTable(clients: readonly Client[]): Table {
  return {
    columns: [
      { name: 'client' },
      { name: 'name', wraps: true },
      { name: 'scopes', wraps: true },
      { name: 'calls from', wraps: true },
      { name: 'created' },
      { name: 'revoked' },
    ],
    rows: clients.map((one) => [one.id, one.name, one.scopes.join(' '), from(one), one.createdAt, one.revokedAt]),
    none: 'no clients yet',
  };
}

export function clientDetails(client: Client): Fields {
  return {
    fields: [
      ['client', client.id],
      ['name', client.name],
      ['scopes', client.scopes.join(' ')],
      ['calls from', from(client)],
      ['created', client.createdAt],
      ['revoked', client.revokedAt],
      ['erased', client.erasedAt],
    ],
  };
}

export function secretTable(secrets: readonly ClientSecretInfo[]): Table {
  return {
    columns: [{ name: 'secret' }, { name: 'created' }, { name: 'expires' }, { name: 'revoked' }],
    rows: secrets.map(({ id, createdAt, expiresAt, revokedAt }) => [id, createdAt, expiresAt, revokedAt]),
    none: 'no secrets',
  };
}

function from({ networks }: Client): string {
  return networks.length > 0 ? networks.join(', ') : 'anywhere';
}
