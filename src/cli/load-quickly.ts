import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

/** Beside the built code, so that it is as safe from others as the code itself. Node.js's default is a shared folder. */
const CACHE = fileURLToPath(new URL('../../.compile-cache', import.meta.url));

/** V8 does not optimise WebAssembly: a command runs each function of Prisma's query compiler a few times. */
const BASELINE_WEBASSEMBLY = ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering'];

/**
 * Prepares this process for the modules of one command, before they are loaded. V8 takes their compiled code from a
 * folder, where an earlier command or the build of the image has left it: to compile it takes an eighth of a database
 * command's time. Where the folder cannot be written, as in the image, it is only read.
 */
export function loadQuickly(): void {
  for (const flag of BASELINE_WEBASSEMBLY) setFlagsFromString(flag);
  enableCompileCache(CACHE);
}
