export { harmless, harmlessJson } from '../../../clients/typescript/src/cli/harmless.js';
