/** Client authentication at an identity provider with private_key_jwt, and responses by form_post. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { decodeJwt, decodeProtectedHeader, importJWK, jwtVerify } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startOidc } from '../../../tests/support/identity-providers/oidc.ts';
import { signAssertion } from '../src/federation/provider/client-key.ts';
import { identityProviderOptions } from '../src/federation/provider/options.ts';
import { validateIdentityProviders } from '../src/federation/provider/validate-identity-providers.ts';
import { type ClientKeyOptions, type IdentityProviderOptions, microsoftEntra } from '../src/index.ts';
import { createOptionReport, formatOptionIssue, readOption } from '../src/option-schema/reader.ts';
import {
  logInByProvider,
  openCallback,
  openId,
  redeemAt,
  setFederationScene,
  signInAtProvider,
  startFederatedLogin,
  startFiles,
  until,
} from './federation-scene.ts';
import { ISSUER } from './server-under-test.ts';
import { textOf } from './visitor.ts';

const fixture = (name: string) =>
  readFileSync(new URL(`../../cli/test/fixtures/${name}`, import.meta.url), 'utf8');

const pem = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString();
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ed25519 = generateKeyPairSync('ed25519');

const good: IdentityProviderOptions = {
  id: 'sso',
  name: 'Single Sign-on',
  clientId: 'portcullis',
  scopes: ['openid'],
  kind: { issuer: 'https://sso.example' },
};

function validate(options: IdentityProviderOptions) {
  const report = createOptionReport();
  const identityProviders = readOption(
    identityProviderOptions.identityProviders.schema(),
    [options],
    ['identityProviders'],
    report,
  );
  const provider = validateIdentityProviders(
    { issuer: ISSUER, resources: [], identityProviders },
    report,
  ).get(options.id);
  const issues = report.issues.map(({ path, message }) => formatOptionIssue(path.join('.'), message));
  return { issues, party: provider };
}

/** What is signed for an identity provider. */
async function assertionFor(options: IdentityProviderOptions, now = 1_800_000_000) {
  const { issues, party } = validate(options);
  expect(issues).toEqual([]);
  if (party?.clientKey === undefined || party.clientKey === null) throw new Error('it has no key');
  const jwt = await signAssertion(party.clientKey, party.clientId, party.provider.issuer, now);
  return { header: decodeProtectedHeader(jwt), claims: decodeJwt(jwt), jwt, party };
}

describe('a client key for an identity provider', () => {
  it.each<[string, ClientKeyOptions, string, KeyObject]>([
    ['EC P-256', { key: pem(p256.privateKey) }, 'ES256', p256.publicKey],
    ['EC P-384', { key: pem(p384.privateKey) }, 'ES384', p384.publicKey],
    ['RSA', { key: pem(rsa.privateKey) }, 'RS256', rsa.publicKey],
    ['RSA by PS256', { key: pem(rsa.privateKey), algorithm: 'PS256' }, 'PS256', rsa.publicKey],
    ['Ed25519', { key: pem(ed25519.privateKey) }, 'EdDSA', ed25519.publicKey],
    [
      'a JWK',
      { key: JSON.stringify({ ...p256.privateKey.export({ format: 'jwk' }), kid: 'k1' }) },
      'ES256',
      p256.publicKey,
    ],
  ])(
    'signs client assertions that the identity provider can verify: %s',
    async (_name, clientKey, algorithm, publicKey) => {
      const { jwt, party } = await assertionFor({ ...good, clientKey });
      expect(party.clientAuthentication).toBe('private_key_jwt');
      const { payload } = await jwtVerify(
        jwt,
        await importJWK(publicKey.export({ format: 'jwk' }), algorithm),
        {
          algorithms: [algorithm],
          issuer: 'portcullis',
          subject: 'portcullis',
          audience: 'https://sso.example',
          currentDate: new Date(1_800_000_001_000),
        },
      );
      expect(payload).toMatchObject({ iat: 1_799_999_990, nbf: 1_799_999_990, exp: 1_800_000_300 });
      expect(payload.aud).toBe('https://sso.example');
    },
  );

  it('gives each client assertion a fresh jti, and names the key by kid or certificate', async () => {
    const key = fixture('localhost-key.pem');
    const said = { key, id: 'k2', certificate: fixture('localhost.pem') };
    const first = await assertionFor({ ...good, clientKey: said });
    const second = await assertionFor({ ...good, clientKey: said });
    expect(first.claims.jti).toMatch(/^[\w-]{43}$/);
    expect(second.claims.jti).not.toBe(first.claims.jti);
    expect(first.header).toMatchObject({ typ: 'JWT', kid: 'k2' });
    expect(first.header['x5t#S256']).toMatch(/^[\w-]{43}$/);
    expect(first.header).not.toHaveProperty('x5c');
  });

  it('signs client assertions in the forms of Entra and Apple', async () => {
    const entra = await assertionFor(
      microsoftEntra('a-tenant', { clientId: 'app', clientKey: { key: pem(rsa.privateKey) } }),
    );
    expect(entra.header.alg).toBe('PS256');
    expect(entra.claims.aud).toBe('https://login.microsoftonline.com/a-tenant/oauth2/v2.0/token');
    const theirs = await assertionFor({
      ...good,
      clientAuthentication: 'signed_secret',
      clientKey: { key: pem(p256.privateKey), id: 'KEY', signer: 'TEAM123456' },
    });
    expect(theirs.header).toMatchObject({ alg: 'ES256', kid: 'KEY' });
    expect(theirs.claims).toMatchObject({
      iss: 'TEAM123456',
      sub: 'portcullis',
      aud: 'https://sso.example',
    });
  });

  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 });
  const k1 = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
  it.each<[string, Partial<IdentityProviderOptions>, RegExp]>([
    ['text', { clientKey: { key: 'canary' } }, /clientKey\.key must be a private key/],
    ['JSON that is none', { clientKey: { key: '{"canary":1}' } }, /clientKey\.key must be/],
    [
      'a public key',
      { clientKey: { key: p256.publicKey.export({ type: 'spki', format: 'pem' }).toString() } },
      /clientKey\.key must be/,
    ],
    ['a short RSA key', { clientKey: { key: pem(weak.privateKey) } }, /clientKey\.key must be/],
    ['another curve', { clientKey: { key: pem(k1.privateKey) } }, /clientKey\.key must be/],
    [
      'an algorithm of another kind of key',
      { clientKey: { key: pem(p256.privateKey), algorithm: 'RS256' } },
      /clientKey\.algorithm must fit the key, which cannot sign with RS256/,
    ],
    [
      'the certificate of another key',
      { clientKey: { key: pem(rsa.privateKey), certificate: fixture('localhost.pem') } },
      /clientKey\.certificate must match the key/,
    ],
    [
      'what is no certificate',
      { clientKey: { key: pem(rsa.privateKey), certificate: 'canary' } },
      /clientKey\.certificate must be a certificate/,
    ],
    ['an empty audience', { clientKey: { key: pem(p256.privateKey), audience: '' } }, /clientKey\.audience/],
    [
      'a secret beside it',
      { clientKey: { key: pem(p256.privateKey) }, clientSecret: 'canary' },
      /clientKey must not be combined with clientSecret/,
    ],
    [
      'a method that needs a secret',
      { clientKey: { key: pem(p256.privateKey) }, clientAuthentication: 'client_secret_post' },
      /clientAuthentication: client_secret_post needs clientSecret/,
    ],
    [
      'an unknown method',
      { clientSecret: 'canary', clientAuthentication: 'tls_client_auth' as never },
      /clientAuthentication must be one of client_secret_basic, /,
    ],
    ['no key for a method that needs one', { clientAuthentication: 'private_key_jwt' }, /needs clientKey/],
    [
      'a secret for a method that needs a key',
      { clientSecret: 'canary', clientAuthentication: 'signed_secret' },
      /signed_secret needs clientKey/,
    ],
    [
      'a response format that supports only secrets',
      {
        clientKey: { key: pem(p256.privateKey) },
        kind: {
          endpoints: {
            authorization: 'https://hub.example/authorize',
            token: 'https://hub.example/token',
            userinfo: 'https://hub.example/user',
          },
          userinfoClaims: { subject: 'id' },
          responseFormat: 'github',
        },
      },
      /response format github accepts only secrets/,
    ],
  ])('rejects a client key with %s, without repeating it', (_name, wrong, issue) => {
    const { issues } = validate({ ...good, ...wrong });
    expect(issues).toEqual([expect.stringMatching(issue)]);
    expect(issues.join()).not.toContain('canary');
    expect(validate({ ...good, clientKey: { key: pem(p256.privateKey) } }).issues).toEqual([]);
  });
});

describe('an identity provider that uses private_key_jwt', () => {
  it('[GW-3P-6] authenticates code exchange, refresh, introspection and revocation by assertions for it alone', async () => {
    const jwk = { ...p256.publicKey.export({ format: 'jwk' }), kid: 'ours', alg: 'ES256', use: 'sig' };
    const files = await startOidc({
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_signing_alg: 'ES256',
      jwks: { keys: [jwk] },
    });
    files.registerRedirectUri(`${ISSUER}/callback/files`);
    onTestFinished(() => files.close());
    const { clientSecret: _none, ...said } = openId(files);
    const clientKey = { key: pem(p256.privateKey), id: 'ours' };
    const t = await setFederationScene([{ ...said, clientKey }]);
    files.tokenLifetime = 120;
    const { status, body } = await redeemAt(t, await logInByProvider(t.visitor));
    expect(status).toBe(200);
    // Refreshed early, and introspected: `provider-tokens.test.ts` tests when.
    t.clock.now += 115;
    const again = await t.post('/token', {
      grant_type: 'refresh_token',
      refresh_token: String(body['refresh_token']),
      client_id: 'web',
      client_secret: 'web-secret',
    });
    expect(again.status).toBe(200);
    expect(files.renewals()).toBe(1);
    const ended = await t.post('/revoke', {
      token: String(again.body['refresh_token']),
      client_id: 'web',
      client_secret: 'web-secret',
    });
    expect(ended.status).toBe(200);
    await until(() => files.count('POST /token/revocation') > 0);

    const received = files.received();
    const sent = [...received.matchAll(/client_assertion=([\w.-]+)/g)].map(([, jwt = '']) => decodeJwt(jwt));
    expect(sent.length).toBeGreaterThanOrEqual(3);
    expect(new Set(sent.map(({ jti }) => jti)).size).toBe(sent.length);
    for (const { aud, iss, sub } of sent) {
      expect([aud, iss, sub]).toEqual([files.origin, files.client.id, files.client.id]);
    }
    expect(received).not.toMatch(/client_secret|authorization\nBasic/i);
  });

  it('a rejected client assertion reveals nothing beyond the rejection', async () => {
    const files = await startOidc({
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [p256.publicKey.export({ format: 'jwk' })] },
    });
    files.registerRedirectUri(`${ISSUER}/callback/files`);
    onTestFinished(() => files.close());
    const { clientSecret: _none, ...said } = openId(files);
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const t = await setFederationScene([{ ...said, clientKey: { key: pem(other.privateKey) } }]);
    const { left } = await logInByProvider(t.visitor);
    expect(left?.searchParams.get('error')).toBe('server_error');
    expect(t.events.map(({ type }) => type)).toContain('federated_login.failed');
    expect(JSON.stringify(t.events)).not.toContain('client_assertion');
  });
});

describe('a response by form_post', () => {
  async function setFormScene() {
    const files = await startFiles();
    const t = await setFederationScene([openId(files, { responseMode: 'form_post' })]);
    const { left, headers, trail } = await startFederatedLogin(t.visitor);
    expect(left?.searchParams.get('response_mode')).toBe('form_post');
    const cookies = [...trail.map((one) => one.headers), headers].flatMap((one) => one.getSetCookie());
    expect(cookies.filter((line) => line.includes('federated-login'))).toEqual([
      expect.stringMatching(/^__Host-.*HttpOnly; SameSite=Lax; Secure$/),
    ]);
    // The form members are read from the identity provider's redirect here.
    const away = new URL(String(left));
    away.searchParams.delete('response_mode');
    const back = await signInAtProvider(t.visitor, away);
    const post = (body: string) =>
      t.send('/callback/files', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', origin: files.origin },
        body,
      });
    return { files, t, back, post };
  }

  it('[GW-CONS-48] reads a form_post response only after the browser repeats it with its SameSite=Lax cookie', async () => {
    const { files, t, back, post } = await setFormScene();
    const before = t.snapshot();
    // Another site's form carries none of our cookies.
    const sent = await post(`${back.searchParams}&user=%7B%7D&id_token=x`);
    expect(sent.status).toBe(303);
    expect(t.snapshot()).toBe(before);
    expect(files.count('POST /token')).toBe(0);
    const location = new URL(sent.headers.get('location') ?? '', ISSUER);
    expect(location.origin + location.pathname).toBe(`${ISSUER}/callback/files`);
    expect(Object.fromEntries(location.searchParams)).toEqual(
      Object.fromEntries(['code', 'state', 'iss'].map((name) => [name, back.searchParams.get(name)])),
    );
    const end = await openCallback(t.visitor, location);
    expect((await redeemAt(t, end)).status).toBe(200);
  });

  it('T077 rejects a form_post response in another browser, and a second time', async () => {
    const { files, t, back, post } = await setFormScene();
    const sent = await post(String(back.searchParams));
    const location = new URL(sent.headers.get('location') ?? '', ISSUER);
    const cookies = [...t.visitor.cookies];
    t.visitor.cookies.clear();
    const other = await openCallback(t.visitor, location);
    expect(other.status).toBe(403);
    expect(textOf(other)).not.toContain('error_description');
    expect(files.count('POST /token')).toBe(0);
    for (const [name, value] of cookies) t.visitor.cookies.set(name, value);
    expect((await openCallback(t.visitor, location)).left?.searchParams.has('code')).toBe(true);
    expect((await openCallback(t.visitor, location)).left).toBeNull();
    expect(files.count('POST /token')).toBe(1);
  });

  it.each([
    ['a member twice', 'state=a&state=b', 400],
    ['nothing at all', '', 303],
    ['more than a body may have', `state=${'x'.repeat(70_000)}`, 413],
  ])('rejects a form_post response that is not a bounded form: %s', async (_what, body, status) => {
    const { t, post } = await setFormScene();
    const before = t.snapshot();
    expect((await post(body)).status).toBe(status);
    expect(t.snapshot()).toBe(before);
  });

  it('T077 relays a form_post response up to the safe URL length, and not an octet beyond', async () => {
    const { t, back, post } = await setFormScene();
    const code = back.searchParams.get('code') ?? '';
    const answer = (form: Readonly<Record<string, string>>) => String(new URLSearchParams(form));
    // Dropped parameters do not count.
    const sent = (length: number) =>
      post(answer({ code: `${code}${'x'.repeat(length)}`, id_token: 'y'.repeat(9000) }));
    const rest = `${ISSUER}/callback/files?code=${code}`.length;
    const longest = await sent(8000 - rest);
    expect([longest.status, new URL(longest.headers.get('location') ?? '', ISSUER).href.length]).toEqual([
      303, 8000,
    ]);
    const before = t.snapshot();
    const refused = await sent(8001 - rest);
    expect([refused.status, refused.headers.get('location')]).toEqual([413, null]);
    expect(refused.text).toContain('Files cannot sign you in right now');
    expect(t.snapshot()).toBe(before);
    const whole = await post(String(back.searchParams));
    const end = await openCallback(t.visitor, new URL(whole.headers.get('location') ?? '', ISSUER));
    expect((await redeemAt(t, end)).status).toBe(200);
  });

  it('rejects a form_post response that was not requested', async () => {
    const t = await setFederationScene([openId(await startFiles())]);
    const { status } = await t.send('/callback/files', { method: 'POST', body: new URLSearchParams() });
    expect(status).toBe(405);
  });
});
