import { Secret } from '../secret.js';

/** The name of the user and of the database. */
export const POSTGRES_NAME = 'transfer_service';

export function postgresUrl(port: number, password: Secret, database = POSTGRES_NAME): Secret {
  return new Secret(`postgresql://${POSTGRES_NAME}:${password.reveal()}@127.0.0.1:${port}/${database}`);
}
