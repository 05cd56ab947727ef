/** Federated login from a network whose only way out is an egress proxy, and whose name servers know no public name. */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import {
  type FederationScene,
  logInByProvider,
  openId,
  redeemAt,
  setFederationScene,
  startFederatedLogin,
  startProvider,
} from '../../packages/authorization-server/test/federation-scene.ts';
import { claimsOf } from '../../packages/authorization-server/test/server-under-test.ts';
import {
  type MisbehavingIdentityProvider,
  startMisbehaving,
} from '../support/identity-providers/misbehaving.ts';

const read = (name: string) => readFileSync(new URL(`fixtures/${name}.pem`, import.meta.url), 'utf8');
const certificate = read('certificate');

const ISSUER = 'https://accounts.provider.example';

/** The hosts of a discovery document such as that of Google: each endpoint has another. */
const HOSTS = {
  token_endpoint: 'oauth2.provider.example',
  userinfo_endpoint: 'userinfo.provider.example',
  jwks_uri: 'keys.provider.example',
  introspection_endpoint: 'introspection.provider.example',
  revocation_endpoint: 'revocation.provider.example',
} as const;

const PATHS: Readonly<Record<keyof typeof HOSTS, string>> = {
  token_endpoint: '/token',
  userinfo_endpoint: '/userinfo',
  jwks_uri: '/jwks',
  introspection_endpoint: '/introspect',
  revocation_endpoint: '/revoke',
};

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** Connects two sockets. */
function join(socket: Socket, port: number, onOpen: () => void = () => {}): void {
  const onward = connect(port, '127.0.0.1', () => {
    onOpen();
    onward.pipe(socket).pipe(onward);
  });
  onward.on('error', () => socket.destroy());
  socket.on('error', () => onward.destroy());
  socket.on('close', () => onward.destroy());
}

interface ProxiedScene {
  readonly t: FederationScene;
  readonly provider: MisbehavingIdentityProvider;
  /** The names that the proxy resolved, in order. */
  readonly connected: () => readonly (string | undefined)[];
}

/** @param metadata members of the discovery document */
async function setProxiedScene(metadata: Readonly<Record<string, string>> = {}): Promise<ProxiedScene> {
  const trusted = getCACertificates('default');
  setDefaultCACertificates([...trusted, certificate]);
  onTestFinished(() => setDefaultCACertificates(trusted));
  const provider = await startProvider(startMisbehaving, 'files');
  const inner = Number(new URL(provider.origin).port);
  const outer = await listen(
    createTlsServer({ key: read('key'), cert: certificate }, (socket) => join(socket, inner)),
  );
  const asked: IncomingMessage[] = [];
  const proxy = createServer().on('connect', (request: IncomingMessage, socket: Socket) => {
    asked.push(request);
    join(socket, outer, () => socket.write('HTTP/1.1 200 Connection established\r\n\r\n'));
  });
  const url = `http://127.0.0.1:${await listen(proxy)}`;
  const endpoints = Object.entries(HOSTS).map(([name, host]) => [
    name,
    `https://${host}${PATHS[name as keyof typeof HOSTS]}`,
  ]);
  const members = { issuer: ISSUER, ...Object.fromEntries(endpoints), ...metadata };
  provider.at('discovery', { kind: 'members', members });
  provider.lies = { response: { iss: ISSUER }, claims: { iss: ISSUER } };
  const t = await setFederationScene([openId(provider, { kind: { issuer: ISSUER } })], {
    outbound: { proxy: url },
  });
  return { t, provider, connected: () => asked.map(({ url }) => url) };
}

it('the egress proxy resolves the hosts that a discovery document names, as it does that of the issuer', async () => {
  const { t, connected } = await setProxiedScene();
  const { body } = await redeemAt(t, await logInByProvider(t.visitor));
  const claims = claimsOf(String(body['access_token']));
  t.clock.now += 60;
  expect(await t.server.isLive(claims as never)).toBe(true);
  expect(connected()).toEqual([
    'accounts.provider.example:443',
    'oauth2.provider.example:443',
    'keys.provider.example:443',
    'userinfo.provider.example:443',
    'introspection.provider.example:443',
  ]);
});

it.each([
  'https://10.0.0.1/token',
  'https://[fd00::1]/token',
  'https://169.254.169.254/token',
  'https://metadata/token',
  'https://vault.internal/token',
  'https://localhost/token',
  'http://oauth2.provider.example/token',
])('[C-SSRF-42] T081 the egress proxy is not asked for a token endpoint at %s', async (token_endpoint) => {
  const { t, provider, connected } = await setProxiedScene({ token_endpoint });
  const { left } = await startFederatedLogin(t.visitor);
  expect(left?.origin).toBe(provider.origin);
  const end = await logInByProvider(t.newVisitor());
  expect(end.left?.searchParams.get('code') ?? null).toBeNull();
  expect(t.events.find(({ type }) => type === 'federated_login.failed')).toBeDefined();
  expect(connected()).toEqual(['accounts.provider.example:443']);
});
