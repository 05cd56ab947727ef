/** PKCE: the syntax of code verifiers and code challenges, and the derivation of one from the other. */
import { hash } from 'node:crypto';
import {
  deriveCodeChallenge,
  encodeBase64url,
  isCodeChallenge,
  verifyCodeVerifier,
} from '@portcullis/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isCodeVerifier } from '../src/pkce.ts';

const unreserved = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~';
const of = (length: number) => 'a'.repeat(length);

describe('isCodeVerifier', () => {
  it.each([
    { description: '43 characters', given: of(43), expect: true },
    { description: '128 characters', given: of(128), expect: true },
    { description: 'every unreserved character', given: unreserved, expect: true },
    { description: '42 characters', given: of(42), expect: false },
    { description: '129 characters', given: of(129), expect: false },
    { description: 'an empty string', given: '', expect: false },
    { description: 'a plus', given: `${of(42)}+`, expect: false },
    { description: 'a slash', given: `${of(42)}/`, expect: false },
    { description: 'padding', given: `${of(43)}=`, expect: false },
    { description: 'a space', given: `${of(43)} `, expect: false },
    { description: 'a line break at the end', given: `${of(43)}\n`, expect: false },
    { description: 'a letter outside of ASCII', given: `${of(42)}é`, expect: false },
  ])('[AS-CODE-70] isCodeVerifier returns $expect for $description', ({ given, expect: expected }) => {
    expect(isCodeVerifier(given)).toBe(expected);
  });
});

describe('isCodeChallenge', () => {
  it.each([
    {
      description: '43 characters of base64url',
      given: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      expect: true,
    },
    { description: '42 characters', given: of(42), expect: false },
    { description: '44 characters', given: of(44), expect: false },
    { description: '129 characters', given: of(129), expect: false },
    { description: 'padding', given: `${of(43)}=`, expect: false },
    { description: 'plain base64', given: `${of(41)}+/`, expect: false },
    { description: 'a verifier character that is not base64url', given: `${of(42)}~`, expect: false },
    { description: 'a line break at the end', given: `${of(43)}\n`, expect: false },
    { description: 'an empty string', given: '', expect: false },
  ])('[AS-AUTHZ-70] T008 isCodeChallenge returns $expect for $description', ({ given, expect: expected }) => {
    expect(isCodeChallenge(given)).toBe(expected);
  });
});

describe('verifyCodeVerifier', () => {
  // RFC 7636 appendix B
  const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
  const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
  const matches = (text: string, digest: string) => hash('sha256', text, 'base64url') === digest;

  it('verifyCodeVerifier accepts the code verifier of the challenge', () => {
    expect(verifyCodeVerifier(verifier, challenge, matches)).toBe(true);
  });

  it.each([
    ['another verifier', `${verifier.slice(0, -1)}l`],
    ['the challenge itself, as of the method plain', challenge],
    ['a verifier that is too short, although its hash matches', 'short'],
    ['no verifier', undefined],
  ])('verifyCodeVerifier rejects %s', (_what, given) => {
    const expected = given === 'short' ? hash('sha256', 'short', 'base64url') : challenge;
    expect(verifyCodeVerifier(given, expected, matches)).toBe(false);
  });
});

describe('for all verifiers', () => {
  const verifier = fc.string({ unit: fc.constantFrom(...unreserved), minLength: 43, maxLength: 128 });

  it('every code verifier has a well-formed code challenge of its own', async () => {
    await fc.assert(
      fc.asyncProperty(verifier, verifier, async (first, second) => {
        const challenge = await deriveCodeChallenge(first);
        expect(isCodeChallenge(challenge)).toBe(true);
        expect((await deriveCodeChallenge(second)) === challenge).toBe(first === second);
      }),
    );
  });

  it('base64url encoding agrees with that of the platform', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), (bytes) => {
        expect(encodeBase64url(bytes)).toBe(Buffer.from(bytes).toString('base64url'));
      }),
    );
  });
});
