import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { EnvelopeError, keyId, MasterKeys } from '../../../src/platform/database/encryption.js';
import { Secret } from '../../../src/platform/secret.js';

const key = () => new Secret<Uint8Array>(randomBytes(32));

describe('encryption at rest', () => {
  const [current, previous] = [key(), key()];
  const keys = new MasterKeys(current, previous);

  it('opens what it sealed, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.uuid(), (text, id) => {
        const wellFormed = Buffer.from(text).toString();
        expect(keys.open(keys.seal(new Secret(wellFormed), id), id).reveal()).toBe(wellFormed);
      }),
    );
  });

  it('seals the same secret differently each time, and names the key', () => {
    const envelopes = [1, 2].map(() => keys.seal(new Secret('secret'), 'row'));
    expect(envelopes[0]).not.toBe(envelopes[1]);
    expect(envelopes[0]).toMatch(new RegExp(`^v1:${keyId(current)}:[A-Za-z0-9_-]+$`));
    expect(keys.isCurrent(envelopes[0]!)).toBe(true);
  });

  it('does not open an envelope that was moved to another row, even if the cache has it for its own row', () => {
    const envelope = keys.seal(new Secret('secret'), 'row 1');
    expect(keys.open(envelope, 'row 1').reveal()).toBe('secret');
    expect(() => keys.open(envelope, 'row 2')).toThrow(EnvelopeError);
    expect(keys.open(envelope, 'row 1').reveal()).toBe('secret');
  });

  it('does not open an envelope with any changed byte', () => {
    const envelope = keys.seal(new Secret('secret'), 'row');
    expect(keys.open(envelope, 'row').reveal()).toBe('secret');
    const [version, id, text] = envelope.split(':');
    const bytes = Buffer.from(text!, 'base64url');
    for (let i = 0; i < bytes.length; i++) {
      const changed = Buffer.from(bytes);
      changed[i]! ^= 1;
      expect(() => keys.open(`${version}:${id}:${changed.toString('base64url')}`, 'row')).toThrow(EnvelopeError);
    }
  });

  it.each([
    '',
    'v1',
    'v1::',
    'v2:00000000:AAAA',
    'v1:00000000:',
    `v1:${keyId(current)}:AAAA`,
    `v1:${keyId(current)}:%%%`,
  ])('reports the fault of %p and reveals nothing of its content', (envelope) => {
    expect(() => keys.open(envelope, 'row')).toThrow(EnvelopeError);
  });

  it('opens the envelopes of the previous key, and seals with the current key', () => {
    const old = new MasterKeys(previous).seal(new Secret('secret'), 'row');
    expect(keys.open(old, 'row').reveal()).toBe('secret');
    expect(keys.isCurrent(old)).toBe(false);
  });

  it('digests with the key and for one purpose, so a dump alone reveals nothing', () => {
    const [now, before] = keys.digests('purpose', ['a', 'b']);
    expect(new MasterKeys(current).digests('purpose', ['ab'])).toEqual([now]);
    expect(new MasterKeys(previous).digests('purpose', ['ab'])).toEqual([before]);
    expect(keys.digests('other', ['ab'])[0]).not.toEqual(now);
  });
});
