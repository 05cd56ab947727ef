/** A transmitter with receivers, users and grants, whose clock and receivers the test controls. */
import {
  type AuthorizationServer,
  createAuthorizationServer,
  type OutboundSettings,
} from '@portcullis/authorization-server';
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import { createGuard, jwtVerifier } from '@portcullis/resource-server';
import type { FullStore } from '@portcullis/store';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { onTestFinished } from 'vitest';
import { openEmptyStore } from '../../../../tests/support/migrated-store.ts';
import { newAccount, newAccountLink, newHash } from '../../../store/testing/samples.ts';
import type { StreamEvent } from '../../src/operations/component-events.ts';
import { idPrefixOf } from '../../src/operations/statistics/event-time.ts';
import {
  type GivenSharedSignalsOptions,
  sharedSignalsSchema,
  transmitterResourceOf,
} from '../../src/shared-signals/options.ts';
import {
  createDecideStreamScopes,
  createEventTransmitter,
  type EventTransmitter,
} from '../../src/shared-signals/transmitter.ts';
import type { DeliveryReport } from '../../src/webhooks/delivery.ts';

export const ISSUER = 'https://auth.example';
export const NOTES = 'https://notes.example/mcp';
export const FILES = 'https://files.example/mcp';
export const PUSH = 'urn:ietf:rfc:8935';
export const POLL = 'urn:ietf:rfc:8936';
export const CAEP = 'https://schemas.openid.net/secevent/caep/event-type/';
export const RISC = 'https://schemas.openid.net/secevent/risc/event-type/';
export const SSF = 'https://schemas.openid.net/secevent/ssf/event-type/';

export type Json = Readonly<Record<string, unknown>>;

/** A pushed request. */
interface PushedRequest {
  readonly url: string;
  readonly headers: Headers;
  readonly body: string;
}

export interface TransmitterScene {
  readonly server: AuthorizationServer;
  readonly transmitter: EventTransmitter;
  readonly store: FullStore;
  /** Epoch milliseconds. */
  readonly clock: { now: number };
  readonly pushed: PushedRequest[];
  readonly reports: DeliveryReport[];
  /** Responds to pushed requests. */
  respond: (request: PushedRequest) => Response | Promise<Response>;
  /** An access token of a client for its streams. */
  token(client?: string, scope?: string): Promise<string>;
  /** Sends a request to the transmitter. @param as the client, or a token of its own */
  call(
    line: string,
    body?: unknown,
    as?: { client?: string; token?: string | null; scope?: string },
  ): Promise<{
    readonly status: number;
    readonly headers: Headers;
    readonly body: Json;
  }>;
  /** Creates a stream. @returns its identifier */
  stream(body?: Json, client?: string): Promise<string>;
  /** Appends audit events of now, which are settled then. */
  happen(...events: readonly Partial<AuditEventRecord>[]): Promise<void>;
  /** A user with an address. @returns the account */
  user(email?: string): Promise<string>;
  /** A grant of a user. @returns its identifier */
  grant(accountId: string, resource: string): Promise<string>;
  /** Verifies a token as a receiver does. @returns its claims */
  verify(token: unknown, audience?: string): Promise<Json>;
  poll(
    id: string,
    body?: Json,
    client?: string,
  ): Promise<{ readonly sets: Readonly<Record<string, string>>; readonly moreAvailable: boolean }>;
  /** The claims of the tokens that a poll returns. */
  claims(id: string, client?: string): Promise<readonly Json[]>;
  /** A text of everything that is stored. */
  snapshot(): Promise<string>;
}

const RECEIVERS: readonly string[] = ['siem', 'notes', 'mailer', 'other'];
const SETTINGS: GivenSharedSignalsOptions = {
  receivers: [
    { client: 'siem' },
    { client: 'notes', resources: [NOTES] },
    { client: 'mailer', subjects: 'email' },
    // A client of the store, which has no secret here.
    { client: 'app_siem' },
  ],
};

export async function setTransmitterScene(
  outbound: OutboundSettings = {},
  settings: GivenSharedSignalsOptions = SETTINGS,
  issuer: string = ISSUER,
): Promise<TransmitterScene> {
  const store = await openEmptyStore();
  const clock = { now: Date.UTC(2026, 5, 1) };
  const seconds = () => Math.floor(clock.now / 1000);
  const parsed = sharedSignalsSchema().parse(settings);
  const resource = transmitterResourceOf(issuer);
  const server = await createAuthorizationServer({
    ...{ issuer, store, clock: seconds, masterKey: new Uint8Array(32).fill(7) },
    resources: [{ resource: NOTES, name: 'Notes', scopes: { 'notes:read': 'Read' } }, resource],
    clients: RECEIVERS.map((id) => ({
      ...{ client_id: id, client_secret: `${id}-secret`, grant_types: ['client_credentials'] },
      scope: 'ssf.read ssf.manage notes:read',
    })),
    decideScopesOf: { [resource.resource]: createDecideStreamScopes(parsed) },
    rateLimits: false,
  });
  const verifier = jwtVerifier({ issuer, jwks: server.jwks, isLive: server.isLive });
  const pushed: PushedRequest[] = [];
  const reports: DeliveryReport[] = [];
  let events = 0;
  const append = (given: readonly Partial<AuditEventRecord>[]) =>
    store.appendEvents(
      given.map((event) => {
        events += 1;
        const none = { clientId: null, accountId: null, grantId: null, resource: null, transactionId: null };
        return {
          ...none,
          id: `${idPrefixOf(clock.now)}-${String(events).padStart(7, '0')}`,
          ...{ at: clock.now, type: 'grant.revoked', details: {}, expiresAt: seconds() + 86_400, ...event },
        };
      }),
    );
  const recordings: Promise<void>[] = [];
  const record = ({ type, clientId, ...details }: StreamEvent) => {
    recordings.push(append([{ type, clientId, details }]));
  };
  const fetchReceiver = async (url: unknown, init?: RequestInit) => {
    const request = { url: String(url), headers: new Headers(init?.headers), body: String(init?.body) };
    pushed.push(request);
    return scene.respond(request);
  };
  const transmitter = createEventTransmitter({
    ...{ issuer, settings: parsed, store, keys: server.securityEventKeys, clock: () => clock.now },
    events: record,
    outbound: { fetch: fetchReceiver, ...outbound },
    createGuard: (resources) => createGuard({ resources, verifier, clock: seconds, events: () => {} }),
    report: (_stream, report) => reports.push(report),
  });
  onTestFinished(async () => {
    transmitter.close();
    await server.close();
    await store.close();
  });
  const scene: TransmitterScene = {
    ...{ server, transmitter, store, clock, pushed, reports },
    respond: () => new Response(null, { status: 202 }),
    async token(client = 'siem', scope = 'ssf.manage') {
      const body = new URLSearchParams({
        ...{ grant_type: 'client_credentials', resource: resource.resource, scope },
      });
      const headers = { authorization: `Basic ${btoa(`${client}:${client}-secret`)}` };
      const response = await server.handle(new Request(`${issuer}/token`, { method: 'POST', headers, body }));
      return String(((await response.json()) as Json)['access_token']);
    },
    async call(line, body, { client = 'siem', scope, token } = {}) {
      const [method = '', path = ''] = line.split(' ');
      const bearer = token === undefined ? await scene.token(client, scope) : token;
      const response = await transmitter.fetch(
        new Request(`${issuer}${path}`, {
          method,
          headers: {
            ...(bearer !== null && { authorization: `Bearer ${bearer}` }),
            ...(body !== undefined && { 'content-type': 'application/json' }),
          },
          ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        }),
      );
      const text = await response.text();
      await Promise.all(recordings);
      const { status, headers } = response;
      return { status, headers, body: text === '' ? {} : (JSON.parse(text) as Json) };
    },
    async stream(body = {}, client = 'siem') {
      const { status, body: created } = await scene.call('POST /ssf/streams', body, { client });
      if (status !== 201) throw new Error(`${status} ${JSON.stringify(created)}`);
      clock.now += 10;
      return String(created['stream_id']);
    },
    async happen(...given) {
      await append(given);
      clock.now += 10_000;
    },
    async user(email = `user-${newHash()}@example.com`) {
      const account = newAccount({ email, emailKey: email.toLowerCase() });
      await store.createAccount(account, newAccountLink(account.id));
      return account.id;
    },
    async grant(accountId, granted) {
      const id = `grant_${newHash()}`;
      await store.saveManagedGrant({
        ...{ id, clientId: `app_${newHash()}`, accountId, workspace: null, consentDigest: newHash() },
        ...{ scopes: ['read'], resources: [granted], createdAt: seconds(), expiresAt: seconds() + 86_400 },
        ...{ lastUsedAt: seconds(), lastUsedFrom: null, managedBy: 'https://idp.example' },
      });
      return id;
    },
    async verify(token, audience = 'siem') {
      const keys = createLocalJWKSet((await server.jwks()) as Parameters<typeof createLocalJWKSet>[0]);
      const { payload } = await jwtVerify(String(token), keys, {
        ...{ issuer, audience, typ: 'secevent+jwt', currentDate: new Date(clock.now) },
      });
      return payload;
    },
    async poll(id, body = { returnImmediately: true }, client = 'siem') {
      const response = await scene.call(`POST /ssf/poll/${id}`, body, { client });
      if (response.status !== 200) throw new Error(`${response.status}`);
      return response.body as unknown as Awaited<ReturnType<TransmitterScene['poll']>>;
    },
    async claims(id, client = 'siem') {
      const { sets } = await scene.poll(id, undefined, client);
      return Promise.all(Object.values(sets).map((token) => scene.verify(token, client)));
    },
    async snapshot() {
      return JSON.stringify([
        await store.listEventStreams(),
        await store.listWebhooks(),
        (await store.listEvents('', 1000)).filter(({ type }) => type.startsWith('event_stream')),
      ]);
    },
  };
  return scene;
}

/** The type of the event of a token. */
export const typeOf = ({ events }: Json): string => Object.keys(events as Json)[0] ?? '';
