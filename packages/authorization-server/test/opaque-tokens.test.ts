/** Opaque access tokens: they reveal nothing, none are stored, and they end as JWTs do. */
import type { AccessTokenClaims } from '@portcullis/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createOpaqueTokens } from '../src/keys/opaque-tokens.ts';
import {
  claimsOf,
  FILES,
  NOTES,
  RESOURCES,
  redemption,
  refreshing,
  type ServerUnderTest,
  startServer,
} from './server-under-test.ts';

const CLAIMS: AccessTokenClaims = {
  iss: 'https://as.example',
  sub: 'user_ada',
  aud: NOTES,
  client_id: 'web',
  exp: 1_800_000_600,
  iat: 1_800_000_000,
  jti: 'token_x',
  scope: 'notes:read',
};
const key = (fill: number) => new Uint8Array(32).fill(fill);
const tokensUnder = (masterKey: Uint8Array, previousMasterKeys: readonly Uint8Array[] = []) =>
  createOpaqueTokens({ masterKey, previousMasterKeys: previousMasterKeys });

describe('an opaque token', () => {
  const { encrypt, decrypt } = tokensUnder(key(1));

  it('an opaque token decrypts here, reveals nothing, and is never the same twice', () => {
    const [one, other] = [encrypt(CLAIMS), encrypt(CLAIMS)];
    expect(decrypt(one)).toEqual(CLAIMS);
    expect(decrypt(other)).toEqual(CLAIMS);
    expect(one).not.toBe(other);
    expect(one).toMatch(/^opaque\.[\w-]+$/);
    const bytes = Buffer.from(one.slice('opaque.'.length), 'base64url').toString('latin1');
    for (const said of ['user_ada', 'notes:read', 'web', NOTES]) expect(bytes).not.toContain(said);
    // Except for the key id, two tokens have nothing in common.
    expect(one.slice(20, 60)).not.toBe(other.slice(20, 60));
  });

  it('an opaque token decrypts under a previous master key, and under no other', () => {
    const token = encrypt(CLAIMS);
    expect(tokensUnder(key(2)).decrypt(token)).toBeNull();
    expect(tokensUnder(key(2), [key(3), key(1)]).decrypt(token)).toEqual(CLAIMS);
  });

  it('rejects an opaque token with any change', () => {
    const token = encrypt(CLAIMS);
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom(...'ABab09-_.='), (at, character) => {
        const changed = token.slice(0, at) + character + token.slice(at + 1);
        expect(decrypt(changed)).toEqual(changed === token ? CLAIMS : null);
      }),
      { numRuns: 500 },
    );
    for (const other of [
      '',
      'opaque.',
      'opaque.AAAA',
      `${token}A`,
      `${token}=`,
      token.slice(0, -1),
      `${token}.x`,
    ])
      expect(decrypt(other)).toBeNull();
  });
});

const opaqueNotes = RESOURCES.map((one) =>
  one.resource === NOTES ? { ...one, accessTokens: 'opaque' as const } : one,
);

async function introspect(t: ServerUnderTest, token: unknown, id = 'notes-server') {
  const authorization = `Basic ${btoa(`${id}:${id}-secret`)}`;
  const answer = await t.send('/introspect', {
    method: 'POST',
    headers: { authorization },
    body: new URLSearchParams({ token: String(token) }),
  });
  return answer.body;
}

describe('a resource with opaque tokens', () => {
  const start = () => startServer({ resources: opaqueNotes });
  const INACTIVE = { active: false };

  it('[AS-INTRO-61] every grant type issues opaque tokens for a resource that introspects them; others keep JWTs', async () => {
    const t = await start();
    const { body } = await t.signIn();
    const token = String(body['access_token']);
    expect(token).toMatch(/^opaque\./);
    expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 600 });
    expect(await introspect(t, token)).toMatchObject({
      active: true,
      token_type: 'Bearer',
      iss: 'https://as.example',
      aud: NOTES,
      sub: 'user_ada',
      scope: body['scope'],
    });
    const again = await t.post('/token', refreshing(body['refresh_token'], 'desktop'));
    expect(again.body['access_token']).toMatch(/^opaque\./);
    expect(again.body['access_token']).not.toBe(token);
    const files = await t.signIn({ resources: [FILES], scopes: ['files:read'] });
    expect(claimsOf(files.body['access_token'])).toMatchObject({ aud: FILES });
  });

  it('[S-STORE-1] stores and logs nothing of opaque tokens', async () => {
    const t = await start();
    const { body } = await t.signIn();
    const ciphertext = String(body['access_token']).slice('opaque.'.length);
    expect(t.snapshot()).not.toContain(ciphertext);
    expect(t.events.map(({ type }) => type)).toContain('token.issued');
    expect(JSON.stringify(t.events)).not.toContain(ciphertext);
  });

  it('[AS-INTRO-63] T095 opaque tokens end by revocation, with their grant, and by expiry', async () => {
    const t = await start();
    const [revoked, ofGrant, kept] = [await t.signIn(), await t.signIn(), await t.signIn()];
    const own = { client_id: 'desktop' };
    await t.post('/revoke', { ...own, token: String(revoked.body['access_token']) });
    await t.post('/revoke', { ...own, token: String(ofGrant.body['refresh_token']) });
    expect(await introspect(t, revoked.body['access_token'])).toEqual(INACTIVE);
    expect(await introspect(t, ofGrant.body['access_token'])).toEqual(INACTIVE);
    expect(await introspect(t, kept.body['access_token'])).toMatchObject({ active: true });
    t.clock.now += 600;
    expect(await introspect(t, kept.body['access_token'])).toEqual(INACTIVE);
  });

  it('[AS-INTRO-62 AS-INTRO-63] other clients can neither introspect nor revoke an opaque token', async () => {
    const t = await start();
    const { body } = await t.signIn();
    const token = String(body['access_token']);
    expect(await introspect(t, token, 'nightly')).toEqual(INACTIVE);
    const before = t.snapshot();
    await t.post('/revoke', { client_id: 'web', client_secret: 'web-secret', token });
    expect(t.snapshot()).toBe(before);
    expect(await introspect(t, token)).toMatchObject({ active: true });
    const other = await startServer({ resources: opaqueNotes, masterKey: key(9) });
    expect(await introspect(other, token)).toEqual(INACTIVE);
  });

  it('introspection tells the client the token’s scope, and the resource also its user', async () => {
    const t = await start();
    const { code, verifier } = await t.issueCode({ clientId: 'web' });
    const secret = { client_secret: 'web-secret' };
    const { body } = await t.post('/token', { ...redemption(code, verifier, 'web'), ...secret });
    const token = String(body['access_token']);
    const toClient = (await t.post('/introspect', { client_id: 'web', ...secret, token })).body;
    expect(Object.keys(toClient).sort()).toEqual(
      ['active', 'aud', 'client_id', 'exp', 'iat', 'iss', 'scope', 'token_type'].sort(),
    );
    expect(toClient).toMatchObject({ active: true, aud: NOTES, client_id: 'web', scope: body['scope'] });
    expect(await introspect(t, token)).toMatchObject({ active: true, sub: 'user_ada', client_id: 'web' });
  });

  it('startup rejects opaque tokens without introspectionClients', async () => {
    const alone = RESOURCES.map(({ introspectionClients: _none, ...one }) => ({
      ...one,
      accessTokens: 'opaque' as const,
    }));
    await expect(startServer({ resources: alone })).rejects.toThrow(
      'resources.0.accessTokens must be jwt without introspectionClients',
    );
  });
});
