import { base64url } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { costOf } from '../../../tests/support/cost.ts';
import { createGuard, type Guard } from '../src/index.ts';
import { createIssuer, NOW, RESOURCE, type TestIssuer } from './support/issuer.ts';

let issuer: TestIssuer;
let guard: Guard;
let keysAsked = 0;

beforeAll(async () => {
  issuer = await createIssuer();
  guard = createGuard({
    resource: RESOURCE,
    verifier: issuer.verifier({
      jwks: async () => {
        keysAsked += 1;
        return { keys: [issuer.publicJwk] };
      },
    }),
    clock: () => NOW,
    events: () => {},
  });
});

async function statusOf(authorization: string, url = '/mcp'): Promise<number> {
  const decision = await guard.authorize({ method: 'GET', url, authorization });
  return decision.authorized ? 200 : decision.response.status;
}

describe('T093 input that is too large or malformed', () => {
  const huge = 'a'.repeat(1_000_000);
  const escapes = base64url.encode(`{"a":"${'\\"'.repeat(2500)}"}`);
  const colons = base64url.encode(`{"a":[${'{"b":1},'.repeat(900)}0]}`);
  const cases: readonly [string, string, number][] = [
    ['a token of 1 MB', `Bearer ${huge}`, 401],
    ['a JWT of 1 MB', `Bearer ${huge}.${huge}.${huge}`, 401],
    ['a header segment of 200 KB', `Bearer ${'a'.repeat(200_000)}.e30.AAAA`, 401],
    ['a million dots', `Bearer ${'.'.repeat(1_000_000)}`, 401],
    ['a million spaces', `Bearer${' '.repeat(1_000_000)}x y`, 400],
    ['a million words', `Bearer ${'a '.repeat(500_000)}`, 400],
    ['a scheme of 1 MB', `${huge} x`, 401],
    ['quotation marks to the end', `Bearer ${escapes}.${escapes}.AAAA`, 401],
    ['objects in objects', `Bearer ${colons}.${colons}.AAAA`, 401],
    ['control characters', 'Bearer a\u0000b', 401],
    ['a character beyond ASCII', 'Bearer aäb', 401],
    ['a lone surrogate', 'Bearer a\ud800b', 401],
  ];

  it.each(cases)(
    '[S-BEAR-67] rejects malformed input quickly, before any cryptography: %s',
    async (_, authorization, status) => {
      const refuse = async () => {
        for (let round = 0; round < 20; round += 1) expect(await statusOf(authorization)).toBe(status);
      };
      expect(await costOf(refuse)).toBeLessThan(2000);
      expect(keysAsked).toBe(0);
      expect(await statusOf(`Bearer ${await issuer.token()}`)).toBe(200);
      keysAsked = 0;
    },
  );

  it('parses a request target of 1 MB quickly', async () => {
    const read = async () => {
      for (const part of ['?a=b&', '%2e/', '//', '#']) {
        expect(await statusOf('Basic x', `/mcp${part.repeat(200_000)}`)).toBe(401);
      }
    };
    expect(await costOf(read)).toBeLessThan(3000);
  });

  it('fetches no keys for a malformed key identifier', async () => {
    keysAsked = 0;
    for (const kid of ['k'.repeat(1000), 7, null, {}, ['key-1']]) {
      const header = base64url.encode(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid }));
      const [, payload, signature] = (await issuer.token()).split('.');
      expect(await statusOf(`Bearer ${header}.${payload}.${signature}`)).toBe(401);
    }
    expect(keysAsked).toBe(0);
  });
});
