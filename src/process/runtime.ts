import { SUPPORTED_NODE } from '../version.js';

/**
 * Whether a release of Node.js is supported. Node.js does not check package.json's `engines` when it starts a program,
 * and a release line that has ended gets no security fixes.
 * @param version such as `24.21.0`
 * @param supported caret ranges, joined by `||`
 */
export function isSupportedNode(version: string, supported = SUPPORTED_NODE): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return supported.split('||').some((range) => {
    const [, lineOfRelease, atLeast = '0'] = /^\^(\d+)(?:\.(\d+))?$/.exec(range.trim()) ?? [];
    return major === Number(lineOfRelease) && minor >= Number(atLeast);
  });
}
