/** The receiver of another authorization server at this transmitter, with client credentials whose access tokens expire. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type AuthorizationServerOptions,
  createAuthorizationServer,
  type IdentityProviderOptions,
} from '@portcullis/authorization-server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openEmptyStore } from '../../../../tests/support/migrated-store.ts';
import { type Json, setTransmitterScene, type TransmitterScene } from './scene.ts';

type Event = Parameters<NonNullable<AuthorizationServerOptions['events']>>[0];
type Client = NonNullable<NonNullable<IdentityProviderOptions['sharedSignals']>['client']>;

interface Exchange {
  readonly path: string;
  readonly authorization: string | null;
  readonly body: string;
  readonly status: number;
}

const CLIENT: Client = { clientId: 'siem', clientSecret: 'siem-secret' };
const RESOURCE_METADATA = '/.well-known/oauth-protected-resource/ssf';
const SERVER_METADATA = '/.well-known/oauth-authorization-server';

/** Members of documents, by their paths; `null`: there is no such document. */
type Changes = Readonly<Record<string, Json | null>>;

/** A transmitter with its authorization server on a port. */
async function startTransmitter(changes: Changes = {}) {
  const exchanges: Exchange[] = [];
  const rejected = new Set<string>();
  const serve = async (scene: TransmitterScene, request: Request): Promise<Response> => {
    const path = new URL(request.url).pathname;
    const { transmitter, server } = scene;
    if (rejected.has(request.headers.get('authorization') ?? '')) request.headers.delete('authorization');
    const response = await (transmitter.belongs(path) ? transmitter.fetch(request) : server.handle(request));
    const changed = changes[path];
    if (changed === undefined) return response;
    if (changed === null) return new Response(null, { status: 404 });
    return Response.json({ ...((await response.json()) as Json), ...changed });
  };
  const listening = createServer(async (incoming, outgoing) => {
    let body = '';
    for await (const chunk of incoming) body += chunk;
    const { method = 'GET', url: path = '' } = incoming;
    const headers = new Headers(
      Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]),
    );
    const authorization = headers.get('authorization');
    const request = new Request(`${issuer}${path}`, { method, headers, ...(body !== '' && { body }) });
    const response = await serve(await scene, request);
    exchanges.push({ path, authorization, body, status: response.status });
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  });
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    listening.closeAllConnections();
    listening.close();
  });
  const issuer = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
  const scene = setTransmitterScene({}, undefined, issuer);
  const at = (prefix: string) => exchanges.filter(({ path }) => path.startsWith(prefix));
  return { ...(await scene), issuer, exchanges, rejected, at };
}

type Transmitter = Awaited<ReturnType<typeof startTransmitter>>;

/** @param ahead milliseconds of its clock before that of the transmitter @returns its audit events */
async function startReceiver(
  { issuer, clock }: Transmitter,
  client: Client,
  ahead: { readonly now: number } = { now: 0 },
): Promise<readonly Event[]> {
  const store = await openEmptyStore();
  const received: Event[] = [];
  const server = await createAuthorizationServer({
    ...{ issuer: 'https://receiver.example', store, masterKey: new Uint8Array(32).fill(7) },
    clock: () => Math.floor((clock.now + ahead.now) / 1000),
    resources: [{ resource: 'https://mcp.example/mcp', name: 'Files', scopes: { read: 'Read' } }],
    identityProviders: [
      {
        ...{ id: 'first', name: 'First', clientId: 'web', scopes: ['openid'], kind: { issuer } },
        sharedSignals: { delivery: 'poll', client },
      },
    ],
    events: (event) => received.push(event),
  });
  onTestFinished(async () => {
    await server.close();
    await store.close();
  });
  return received;
}

const countOf = (events: readonly Event[], wanted: string) =>
  events.filter(({ type }) => type === wanted).length;

describe('a receiver with client credentials', () => {
  it.each<[string, (t: Transmitter, ahead: { now: number }) => void, rejections: number]>([
    [
      'expired',
      // Not at the transmitter, which would reject a poll that is in transit.
      (_t, ahead) => {
        ahead.now = 3_600_000;
      },
      1,
    ],
    [
      'was rejected before it expired',
      ({ rejected, at }) => rejected.add(String(at('/ssf/poll').at(-1)?.authorization)),
      2,
    ],
  ])('goes on with a new access token when one %s', async (_description, end, rejections) => {
    const t = await startTransmitter();
    const ahead = { now: 0 };
    const received = await startReceiver(t, CLIENT, ahead);
    await expect.poll(() => t.at('/ssf/verification').length).toBe(1);
    t.clock.now += 10_000;
    const verified = () => countOf(received, 'security_event_stream.verified');
    await expect.poll(verified).toBe(1);
    await t.happen({ accountId: await t.user() });
    const arrived = () => countOf(received, 'security_event.received');
    await expect.poll(arrived).toBe(1);
    end(t, ahead);
    await t.happen({ accountId: await t.user() });
    await expect.poll(arrived).toBe(2);
    await t.happen({ accountId: await t.user() });
    await expect.poll(arrived).toBe(3);
    const [first, second, ...more] = t.at('/token');
    expect(more).toEqual([]);
    expect(second).toEqual(first);
    expect(first).toMatchObject({ status: 200, authorization: `Basic ${btoa('siem:siem%2Dsecret')}` });
    expect(Object.fromEntries(new URLSearchParams(first?.body))).toEqual({
      grant_type: 'client_credentials',
      scope: 'ssf.read ssf.manage',
      resource: `${t.issuer}/ssf`,
    });
    expect(t.exchanges.filter(({ status }) => status === 401)).toHaveLength(rejections);
    expect(new Set(t.at('/ssf').map(({ authorization }) => authorization)).size).toBe(3);
    expect(countOf(received, 'security_event_stream.failed')).toBe(0);
    expect(await t.store.listEventStreams()).toHaveLength(1);
  });

  it('gets its stream where the authorization server has OpenID Connect metadata only', async () => {
    const t = await startTransmitter({ [SERVER_METADATA]: null });
    const received = await startReceiver(t, CLIENT);
    await expect.poll(() => t.at('/ssf/verification').length).toBe(1);
    expect(await t.store.listEventStreams()).toHaveLength(1);
    expect(countOf(received, 'security_event_stream.failed')).toBe(0);
  });

  it.each<[string, Client, Changes, RegExp, isSecretSent: boolean]>([
    [
      'with a wrong secret',
      { ...CLIENT, clientSecret: 'wrong' },
      {},
      /^authorization server: it responded invalid_client$/,
      true,
    ],
    [
      'that is no receiver there',
      { clientId: 'other', clientSecret: 'other-secret' },
      {},
      /^authorization server: it responded invalid_scope$/,
      true,
    ],
    [
      'whose authorization server is another one than the transmitter names',
      { ...CLIENT, authorizationServer: 'https://other.example' },
      {},
      /^its authorization server is http:.*, not https:\/\/other\.example$/,
      false,
    ],
    [
      'whose transmitter names an authorization server that was not configured',
      CLIENT,
      { [RESOURCE_METADATA]: { authorization_servers: ['https://attacker.example'] } },
      /^its authorization server is https:\/\/attacker\.example, not http:/,
      false,
    ],
    [
      'whose transmitter names the resource of another',
      CLIENT,
      { [RESOURCE_METADATA]: { resource: 'https://notes.example/mcp' } },
      /^its resource metadata describes another resource$/,
      false,
    ],
    [
      'whose authorization server names a token endpoint at another origin',
      CLIENT,
      { [SERVER_METADATA]: { token_endpoint: 'https://attacker.example/token' } },
      /^authorization server: its token endpoint has another origin$/,
      false,
    ],
  ])('%s gets no stream', async (_description, client, changes, reason, isSecretSent) => {
    const t = await startTransmitter(changes);
    const before = await t.snapshot();
    const received = await startReceiver(t, client);
    await expect.poll(() => countOf(received, 'security_event_stream.failed')).toBe(1);
    expect(received).toContainEqual(expect.objectContaining({ reason: expect.stringMatching(reason) }));
    const sent = t.exchanges.filter(({ authorization }) => authorization !== null);
    expect(sent.every(({ path }) => path === '/token')).toBe(true);
    expect(sent.length > 0).toBe(isSecretSent);
    expect(await t.snapshot()).toBe(before);
  });
});
