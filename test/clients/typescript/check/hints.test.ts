import { describe, expect, it } from '@jest/globals';
import { type CaseOutcome, hintFor } from '../../../../clients/typescript/src/check/hints.js';

const responded = (responseStatus: number, headers: CaseOutcome['responseHeaders'] = {}): CaseOutcome => ({
  ...{ responseStatus, responseHeaders: headers, detail: null },
  error: responseStatus < 400 ? 'redirect' : 'status',
});
const hint = (...[status, headers]: Parameters<typeof responded>) => hintFor('valid', responded(status, headers), null);

describe('the hint of a rejected valid request', () => {
  it.each<[number, string, string]>([
    [400, 'ASP.NET', '[IgnoreAntiforgeryToken]'],
    [403, 'Django', '@csrf_exempt'],
    [403, 'Spring', 'csrf.ignoringRequestMatchers'],
    [405, 'Hono', 'app.post'],
    [413, 'nginx', 'client_max_body_size'],
    [415, 'Spring', 'consumes'],
    [419, 'Laravel', 'validateCsrfTokens'],
    [422, 'Rails', 'skip_forgery_protection'],
    [422, 'FastAPI', 'await request.body()'],
  ])('names for %d the line of %s', (status, framework, line) => {
    expect(hint(status)).toContain(`The receiver responded with ${status}.`);
    expect(hint(status)).toContain(framework);
    expect(hint(status)).toContain(line);
  });

  it('names the signature too if the status may be that of the own code', () => {
    for (const status of [400, 401, 403, 422])
      expect(hint(status)).toContain('Verify with the secret of this endpoint');
    for (const status of [405, 413, 415, 419]) expect(hint(status)).not.toContain('secret');
  });

  it('names the login page in front of the route', () => {
    const page = { 'content-type': 'text/html; charset=utf-8' };
    expect(hint(401, page)).toContain('exempt the route from authentication');
    expect(hint(401, { 'content-type': 'application/json' })).not.toContain('login page');
    expect(hint(302, { location: '/login' })).toContain('exempt the route from authentication');
  });

  it('names the final slash of a redirect', () => {
    expect(hint(301)).toMatch(/register the final URL, with its final slash.*APPEND_SLASH/);
  });
});

it('a later case points at the case valid, not at the frameworks', () => {
  expect(hintFor('duplicate', responded(403), false)).toMatch(/rejected the case valid too/);
  expect(hintFor('duplicate', responded(403), true)).toMatch(
    /responded with 403\. It rejects an event that it already/,
  );
});
