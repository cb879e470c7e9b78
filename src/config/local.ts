import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { port } from './forms.js';
import { setting } from './setting.js';

/** The embedded stack. */
export const localSettings = {
  LOCAL_DIR: setting(z.string().min(1), '.local', 'Folder of the state of the embedded stack.'),
  CACHE_DIR: setting(
    z.string().min(1),
    join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'transfer-service'),
    "Folder of the programs that the embedded stack downloads or builds (Temporal's server).",
  ),
  POSTGRES_PORT: setting(port, '5433', 'Port of the embedded Postgres. 0 picks a free port.'),
  TEMPORAL_PORT: setting(port, '7233', 'Port of the embedded Temporal. 0 picks a free port.'),
  TEMPORAL_UI_PORT: setting(port, '8233', "Port of the embedded Temporal's UI. 0 picks a free port."),
} as const;
