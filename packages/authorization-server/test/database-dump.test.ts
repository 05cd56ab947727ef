/** A stolen database: its bytes reveal no secret of any user, client or key after everything a server does. */

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { startPostgres } from '../../../tests/support/postgres.ts';
import { openTestStore } from '../../../tests/support/test-store.ts';
import { createEncryptor, dataKeyContext, signingKeyContext } from '../src/encryption/encryptor.ts';
import { codeOf, recoveryCodesOn, secretOn } from './code-app.ts';
import {
  logInByProvider,
  openId,
  redeemAt,
  setFederationScene,
  signInAtProvider,
  startFederatedLogin,
  startFiles,
} from './federation-scene.ts';
import { basic, CALLBACK, claimsOf, MASTER_KEY, refreshing } from './server-under-test.ts';
import { decide, EMAIL, PASSWORD, requestOf, type Scene, type Sight, setScene, VERIFIER } from './visitor.ts';

/** A store, and all its bytes as a thief would read them. */
interface Place {
  readonly name: string;
  open(): Promise<{ readonly location: string; dump(): Promise<Buffer> }>;
}

const file: Place = {
  name: 'SQLite file',
  async open() {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const location = join(folder, 'store.db');
    const dump = async () =>
      Buffer.concat([location, `${location}-wal`].filter(existsSync).map((path) => readFileSync(path)));
    return { location, dump };
  },
};

const postgres: Place = {
  name: 'PostgreSQL database',
  async open() {
    const running = await startPostgres();
    onTestFinished(() => running.stop());
    const location = await running.createDatabase();
    return { location, dump: () => dumpPostgres(location) };
  },
};

/** Every row of every table: text as text, and bytes as bytes. */
async function dumpPostgres(location: string): Promise<Buffer> {
  const client = new Client({ connectionString: location });
  await client.connect();
  const named = await client.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`,
  );
  const kept: Buffer[] = [];
  for (const { name } of named.rows) {
    const { rows } = await client.query<Record<string, unknown>>(`SELECT * FROM "${name}"`);
    for (const value of rows.flatMap((row) => Object.values(row))) {
      kept.push(Buffer.isBuffer(value) ? value : Buffer.from(String(value)));
    }
  }
  await client.end();
  return Buffer.concat(kept.flatMap((part) => [part, Buffer.from('\n')]));
}

/** None of these may be found as text, as decoded bytes, or in hexadecimal. */
function expectNone(dump: Buffer, secrets: Readonly<Record<string, string | Buffer>>): void {
  const found = Object.entries(secrets).filter(([, secret]) => {
    const bytes = Buffer.isBuffer(secret) ? secret : Buffer.from(secret, 'base64url');
    const shapes = [
      secret,
      ...(bytes.length < 12 ? [] : [bytes, bytes.toString('hex'), bytes.toString('base64')]),
    ];
    return shapes.some((shape) => dump.includes(shape));
  });
  expect(found.map(([name]) => name)).toEqual([]);
  for (const [name, secret] of Object.entries(secrets))
    expect([name, secret.length > 5]).toEqual([name, true]);
}

const cookiesOf = (visitor: Scene['visitor'], of: string) =>
  Object.fromEntries([...visitor.cookies].map(([name, value]) => [`cookie ${name} of ${of}`, value]));
const hiddenIn = ({ html }: Sight) =>
  [...html.matchAll(/name="token" value="([^"]+)"/g)].map(([, value = '']) => value);

/** The state parameter of a client. */
const STATE = 'state-of-a-client-QmFzZTY0';

/** Everything that users and clients do with a server that has local accounts, and every secret involved. */
async function useAccounts(location: string): Promise<Record<string, string | Buffer>> {
  const t = await setScene({ store: await openTestStore(location), registration: {} });
  const { body: registered } = await t.register({ redirect_uris: [CALLBACK], token_endpoint_auth_method: 'client_secret_post' });
  const login = await t.visitor.open(requestOf({ scope: 'notes:read', state: STATE }));
  const consent = await t.visitor.submit(login, { email: EMAIL, password: PASSWORD });
  const { left } = await t.visitor.submit(consent, { decision: 'allow' });
  const code = left?.searchParams.get('code') ?? '';
  const secret = { client_secret: 'web-secret' };
  const redeemed = await t.post('/token', { grant_type: 'authorization_code', code, code_verifier: VERIFIER, client_id: 'web', redirect_uri: CALLBACK, ...secret });
  expect(redeemed.status).toBe(200);
  const refreshed = await t.post('/token', { ...refreshing(redeemed.body['refresh_token'], 'web'), ...secret });
  expect(refreshed.status).toBe(200);
  const machine = await t.post('/token', { grant_type: 'client_credentials' }, basic('nightly', 'nightly-secret'));
  await t.post('/revoke', { token: String(machine.body['access_token']) }, basic('nightly', 'nightly-secret'));
  const unused = (await decide(t.visitor, requestOf())).left?.searchParams.get('code') ?? '';
  await t.post('/token', { ...refreshing('guessed-refresh-token', 'web'), ...secret });
  await t.post('/token', { grant_type: 'client_credentials' }, basic('nightly', 'mistyped-secret'));
  await t.newVisitor().submit(await t.newVisitor().open('/login'), { email: EMAIL, password: 'mistyped password' }, '/login');

  const page = await t.visitor.submit(await t.visitor.open('/account/codes'), { password: PASSWORD });
  const codes = await t.visitor.submit(page, { code: codeOf(secretOn(page), t.clock.now) });
  const recovery = recoveryCodesOn(codes);
  expect(recovery).toHaveLength(10);
  const invitation = await t.server.accounts.add('bob@example.org');
  const reset = await t.server.accounts.reset(EMAIL);
  const linkOf = (made: object) => ('link' in made ? (new URL(String(made.link)).searchParams.get('token') ?? '') : '');
  const { token: clientInvitation } = await t.server.initialAccessTokens.create('for Bob');

  const encryptor = createEncryptor(MASTER_KEY);
  const keys = (await t.store.listSigningKeys()).map(({ id, encryptedPrivateKey }) => encryptor.decrypt(encryptedPrivateKey, signingKeyContext(id)));
  await t.server.close();
  return {
    ...cookiesOf(t.visitor, 'Ada'),
    ...Object.fromEntries(hiddenIn(consent).map((token, index) => [`form token ${index}`, token])),
    password: PASSWORD, 'mistyped password': 'mistyped password', 'mistyped secret': 'mistyped-secret', 'guessed token': 'guessed-refresh-token',
    'state of a client': STATE, code, 'unused code': unused, verifier: VERIFIER,
    'access token': String(redeemed.body['access_token']), 'refresh token': String(redeemed.body['refresh_token']),
    'second access token': String(refreshed.body['access_token']), 'second refresh token': String(refreshed.body['refresh_token']),
    'key of the refresh token': String(redeemed.body['refresh_token']).split('~').at(-1) ?? '',
    'key of the second refresh token': String(refreshed.body['refresh_token']).split('~').at(-1) ?? '',
    'token of a machine': String(machine.body['access_token']),
    'secret of a configured client': 'nightly-secret',
    'secret of a registered client': String(registered['client_secret']), 'token of a registration': String(registered['registration_access_token']),
    'secret of the app that shows codes': secretOn(page),
    ...Object.fromEntries(recovery.map((one, index) => [`recovery code ${index}`, one])),
    'link of an invitation': linkOf(invitation), 'link of a reset': linkOf(reset), 'invitation of a client': clientInvitation,
    'master key': Buffer.from(MASTER_KEY),
    ...Object.fromEntries(keys.map((key, index) => [`private key ${index}`, key])),
  };
} // biome-ignore format: a list

/** The same with users who sign in at an identity provider. */
async function useIdentityProvider(location: string): Promise<Record<string, string | Buffer>> {
  const files = await startFiles();
  const t = await setFederationScene([openId(files)], { store: await openTestStore(location) });
  const { body, status } = await redeemAt(t, await logInByProvider(t.visitor));
  expect(status).toBe(200);
  // Another user is still at the identity provider.
  const away = t.newVisitor();
  const { left } = await startFederatedLogin(away);
  await signInAtProvider(away, left);
  const state = left?.searchParams.get('state') ?? '';
  expect(files.given.length).toBeGreaterThanOrEqual(3);
  const encryptor = createEncryptor(MASTER_KEY);
  const dataKeys = (await t.store.listDataKeys()).map(({ id, encryptedKey }) => encryptor.decrypt(encryptedKey, dataKeyContext(id)));
  expect(dataKeys.length).toBeGreaterThan(0);
  await t.server.close();
  const sent = /code_verifier=([\w.~-]{43,})/.exec(files.received())?.[1] ?? '';
  return {
    ...cookiesOf(t.visitor, 'Ada'),
    ...cookiesOf(away, 'a user on the way'),
    ...Object.fromEntries(files.given.map((token, index) => [`token ${index} of an identity provider`, token])),
    ...Object.fromEntries(dataKeys.map((key, index) => [`data key ${index}`, key])),
    'state on its way': state, 'verifier for the identity provider': sent, 'our secret there': files.client.secret,
    'access token': String(body['access_token']), 'refresh token': String(body['refresh_token']),
  };
} // biome-ignore format: a list

it.each([file, postgres])(
  '[S-STORE-1 AS-CODE-72] a dump of a $name contains no secret, whatever was done with the server',
  async ({ open }) => {
    for (const use of [useAccounts, useIdentityProvider]) {
      const { location, dump } = await open();
      const secrets = await use(location);
      const bytes = await dump();
      expectNone(bytes, secrets);
      // The dump is complete: values that are not secret are found.
      for (const known of ['token.issued', claimsOf(secrets['access token'])['grant_id']]) {
        expect(bytes.includes(String(known))).toBe(true);
      }
    }
  },
);
