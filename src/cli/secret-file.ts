export { readSecretFile } from '../../clients/typescript/src/cli/secret-file.js';
