// `npm run client:docs`: writes the API documentation of clients/typescript to clients/typescript/docs.
import { execFileSync } from 'node:child_process';
import { installTooling, TOOLING } from './client/tooling.mjs';

installTooling();
execFileSync(process.execPath, ['node_modules/typedoc/bin/typedoc'], { cwd: TOOLING, stdio: 'inherit' });
