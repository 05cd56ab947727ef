/** Remote guards that introspect at the command, over real sockets and in real time. */
import { execFile } from 'node:child_process';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  confirmVerifier,
  createGuard,
  type IntrospectionVerifierOptions,
  introspectionVerifier,
  jwtVerifier,
  type TokenVerifier,
} from '@portcullis/resource-server';
import { protect } from '@portcullis/resource-server/express';
import { protectNode } from '@portcullis/resource-server/node';
import express from 'express';
import * as oauth from 'oauth4webapi';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lastTaken } from '../support/last-accepted.ts';
import { owner, type Portcullis, startPortcullis } from '../support/portcullis.ts';
import { sourceFlags } from '../support/source-flags.ts';
import { createUser } from '../support/user.ts';

const redirectUri = 'http://127.0.0.1:33418/callback';
const notes = {
  client_id: 'notes',
  redirect_uris: [redirectUri],
  grant_types: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_method: 'none',
};
const guard = {
  client_id: 'guard',
  client_secret: 'a secret that only the guard knows',
  grant_types: ['client_credentials'],
};
const script = fileURLToPath(new URL('../../packages/cli/bin.js', import.meta.url));

/** A remote protected server that knows its issuer and its own credentials there. */
interface Elsewhere {
  readonly resource: string;
  readonly server: Server;
  /** Seconds within which it must reject a revoked token. */
  readonly bound: number;
}

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

let quick: Elsewhere;
let usual: Elsewhere;
let portcullis: Portcullis;
/** The last request of the user's browser. */
let cookie = '';

beforeAll(async () => {
  quick = await listenElsewhere(2);
  usual = await listenElsewhere(10);
  portcullis = await startPortcullis({
    clients: [notes, guard],
    resources: [quick, usual].map(({ resource, bound }) => ({
      resource,
      name: `Notes ${bound}`,
      scopes: { read: 'Read' },
      introspectionClients: [guard.client_id],
      revocationDelay: bound,
    })),
  });
  const issuer = portcullis.url;
  const introspection = (more: Partial<IntrospectionVerifierOptions> = {}) =>
    introspectionVerifier({
      ...{ issuer, endpoint: `${issuer}/introspect` },
      ...{ clientId: guard.client_id, clientSecret: guard.client_secret },
      ...more,
    });
  const guardOf = ({ resource }: Elsewhere, verifier: TokenVerifier) => createGuard({ resource, verifier });
  const ofQuick = guardOf(quick, introspection({ freshness: quick.bound }));
  const plain = protectNode(ofQuick, (_request, response) => {
    response.end('{}');
  });
  const ofUsual = guardOf(usual, confirmVerifier(jwtVerifier({ issuer }), introspection()));
  const app = express().all('/mcp', protect(ofUsual), (_request, response) => {
    response.json({});
  });
  quick.server.on('request', plain);
  usual.server.on('request', app as RequestListener);
});

afterAll(async () => {
  for (const { server } of [quick, usual]) {
    server.closeAllConnections();
    server.close();
  }
  expect(await portcullis.stop()).toBe(0);
});

async function listenElsewhere(bound: number): Promise<Elsewhere> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { resource: `http://127.0.0.1:${port}/mcp`, server, bound };
}

/** A user signs in and consents, each time in a new browser. */
async function signIn(resource: string): Promise<Tokens> {
  const verifier = oauth.generateRandomCodeVerifier();
  const url = new URL(`${portcullis.url}/authorize`);
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: notes.client_id,
    redirect_uri: redirectUri,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    scope: 'read',
    resource,
  }).toString();
  const user = createUser(owner, (request) => {
    cookie = request.headers.get('cookie') ?? '';
    return fetch(request);
  });
  const left = await user.authorize(url);
  const response = await post('/token', {
    grant_type: 'authorization_code',
    code: left.searchParams.get('code') ?? '',
    redirect_uri: redirectUri,
    code_verifier: verifier,
    client_id: notes.client_id,
    resource,
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Tokens;
}

function post(path: string, form: Record<string, string>, headers: Record<string, string> = {}) {
  const body = new URLSearchParams(form);
  return fetch(`${portcullis.url}${path}`, { method: 'POST', body, headers, redirect: 'manual' });
}

function grantOf({ access_token: token }: Tokens): string {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).grant_id;
}

const giveBack = (token: string) => post('/revoke', { token, client_id: notes.client_id });

async function endOnPage(tokens: Tokens, { bound }: Elsewhere): Promise<void> {
  const path = '/connections/end';
  const page = await fetch(`${portcullis.url}${path}?connection=${grantOf(tokens)}`, { headers: { cookie } });
  const text = await page.text();
  expect(text).toContain(`can keep working for up to ${bound} seconds`);
  const fields = [...text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)];
  const form = Object.fromEntries(fields.map(([, name = '', value = '']) => [name, value]));
  const answer = await post(path, form, { cookie, origin: portcullis.url });
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/connections?ended=one']);
}

/** Another process on the same store. */
async function endByCommand(tokens: Tokens): Promise<void> {
  const folder = dirname(portcullis.database);
  const args = [...sourceFlags(), script, 'connections', 'end', owner.email, grantOf(tokens)];
  const env = {
    ...process.env,
    PORTCULLIS_CONFIG: join(folder, 'config.json'),
    PORTCULLIS_DATABASE: portcullis.database,
    PORTCULLIS_KEY_FILE: join(folder, 'portcullis.key'),
    PORTCULLIS_PUBLIC_URL: portcullis.url,
  };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  expect(stdout).toBe('Ended 1 connection.\n');
}

const ways: readonly (readonly [string, (tokens: Tokens, where: Elsewhere) => Promise<unknown>])[] = [
  ['gives its refresh token back', ({ refresh_token: token }) => giveBack(token)],
  ['gives this token back alone', ({ access_token: token }) => giveBack(token)],
  ['is ended on the connections page of its user', endOnPage],
  ['ends by the command', endByCommand],
];

async function present(resource: string, { access_token: token }: Tokens): Promise<number> {
  const response = await fetch(resource, { method: 'POST', headers: { authorization: `Bearer ${token}` } });
  await response.text();
  return response.status;
}

it.each([
  ['node:http, introspection every two seconds', () => quick],
  ['Express, verified locally and introspected every ten seconds', () => usual],
])('T095 a remote guard rejects a revoked token in time: %s', async (_name, find) => {
  const { resource, bound } = find();
  const bystander = await signIn(resource);
  const tokens: Tokens[] = [];
  for (const _way of ways) tokens.push(await signIn(resource));
  const statuses = await Promise.all([bystander, ...tokens].map((one) => present(resource, one)));
  expect(statuses).toEqual([200, 200, 200, 200, 200]);
  const took = await Promise.all(
    ways.map(async ([way, end], at) => {
      const mine = tokens[at] ?? bystander;
      await end(mine, find());
      return [way, (await lastTaken(() => present(resource, mine))) < bound] as const;
    }),
  );
  expect(took).toEqual(ways.map(([way]) => [way, true]));
  expect(await present(resource, bystander)).toBe(200);
  // After revoking a single token the client gets a new one, which is valid at once.
  const [, alone] = tokens;
  const form = { grant_type: 'refresh_token', client_id: notes.client_id };
  const next = await post('/token', { ...form, refresh_token: alone?.refresh_token ?? '' });
  expect(await present(resource, (await next.json()) as Tokens)).toBe(200);
});

it('T095 a new process knows earlier revocations, and issues valid tokens', async () => {
  const { resource, bound } = quick;
  const [ended, active] = [await signIn(resource), await signIn(resource)];
  await giveBack(ended.refresh_token);
  await portcullis.restart();
  expect(await lastTaken(() => present(resource, ended))).toBeLessThan(bound);
  expect(await present(resource, active)).toBe(200);
  expect(await present(resource, await signIn(resource))).toBe(200);
});
