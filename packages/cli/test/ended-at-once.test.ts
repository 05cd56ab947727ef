/** What ends access ends everything of the user at once, in all processes: by command, by SCIM, and by a signal of the identity provider. */
import { tmpdir } from 'node:os';
import {
  type AuthorizationServer,
  createAuthorizationServer,
  createProvisioningTokenAdministration,
} from '@portcullis/authorization-server';
import type { AccessTokenClaims } from '@portcullis/protocol';
import { createGuard, opaqueTokenVerifier } from '@portcullis/resource-server';
import { protect } from '@portcullis/resource-server/fetch';
import { type FullStore, openStore } from '@portcullis/store';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  AUDIENCE,
  startTransmitter,
  type TransmitterUnderTest,
} from '../../authorization-server/test/transmitter.ts';
import { postgresDatabases, sqliteFiles } from '../../store/test/databases.ts';
import { newApproval } from '../../store/testing/approvals.ts';
import { newConnectedAccount } from '../../store/testing/federation-samples.ts';
import { newAccount, newHash, newSession } from '../../store/testing/samples.ts';
import { createEndedGrants } from '../src/server/ended-grants.ts';
import { runHere } from './support/in-process.ts';

const ISSUER = 'http://localhost:8484';
const NOTES = 'https://mcp.example/mcp';
const SUBJECT = 'eve';
const now = () => Math.floor(Date.now() / 1000);

/** A process: a server with a connection of its own to the database. */
async function startProcess(location: string, transmitter: TransmitterUnderTest) {
  const store = await openStore(location);
  const server = await createAuthorizationServer({
    ...{ issuer: ISSUER, store, masterKey: new Uint8Array(32).fill(7) },
    resources: [{ resource: NOTES, name: 'Notes', scopes: { read: 'Read' } }],
    identityProviders: [
      {
        ...{ id: 'acme', name: 'Acme', clientId: 'portcullis', scopes: ['openid'] },
        ...{ kind: { issuer: transmitter.issuer }, scim: {}, sharedSignals: { audience: [AUDIENCE] } },
      },
    ],
  });
  onTestFinished(async () => {
    await server.close();
    await store.close();
  });
  return { store, server };
}

/** The user signs in with a browser, has allowed an app, connected an account at a backend, and a call waits for approval. */
async function furnish(store: FullStore, issuer: string) {
  const account = newAccount({ emailKey: `federated:${newHash()}` });
  await store.linkIdentity({ issuer, subject: SUBJECT, accountId: account.id }, account);
  const time = now() - 60;
  await store.saveSession(
    newSession(account.id, { createdAt: time, expiresAt: time + 3600 }),
    account.passwordHash,
  );
  const grantId = `grant_${newHash()}`;
  await store.saveManagedGrant({
    ...{ id: grantId, clientId: 'app', accountId: account.id, workspace: null, consentDigest: newHash() },
    ...{ scopes: ['read'], resources: [NOTES], createdAt: time, expiresAt: time + 3600 },
    ...{ lastUsedAt: time, lastUsedFrom: null, managedBy: 'https://idp.example' },
  });
  const connected = newConnectedAccount({ grantId, accountId: account.id, createdAt: time });
  expect(await store.saveConnectedAccount(connected, null)).toBe(true);
  const approval = newApproval({ subject: account.id, grantId, createdAt: time, expiresAt: time + 3600 });
  await store.requestApproval(approval, { bySubject: 9, byServer: 9 });
  return { accountId: account.id, grantId, approvalId: approval.id };
}

type Furnished = Awaited<ReturnType<typeof furnish>>;

const claimsOf = ({ accountId, grantId }: Furnished): AccessTokenClaims => ({
  ...{ iss: ISSUER, sub: accountId, aud: NOTES, client_id: 'app', scope: 'read', jti: newHash() },
  ...{ iat: now(), exp: now() + 600, grant_id: grantId },
});

/** Opens an event stream behind a guard of a process. @returns when it is over */
async function openStream(
  server: AuthorizationServer,
  store: FullStore,
  user: Furnished,
): Promise<{ readonly over: Promise<boolean> }> {
  const claims = claimsOf(user);
  const read = async () => ((await server.isLive(claims)) ? claims : null);
  const guard = createGuard({
    ...{ resource: NOTES, verifier: opaqueTokenVerifier({ issuer: ISSUER, read }), events: () => {} },
    streams: { endedGrants: createEndedGrants(store) },
  });
  const serve = protect(guard, () => {
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(': open\n\n')),
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  });
  const headers = { authorization: 'Bearer of-the-app', accept: 'text/event-stream' };
  const response = await serve(new Request(NOTES, { headers }));
  expect(response.status).toBe(200);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  return { over: reader.read().then(({ done }) => done) };
}

/** What a process knows of the user. */
async function stateOf(
  { store, server }: { store: FullStore; server: AuthorizationServer },
  user: Furnished,
) {
  const connected = await store.findConnectedAccount({ grantId: user.grantId, backend: '/github' });
  return {
    sessions: (await store.listSessions(user.accountId, now())).length,
    grants: (await store.listGrants(user.accountId, now(), null, 10)).length,
    isLive: await server.isLive(claimsOf(user)),
    isConnected: connected !== null && connected.endedAt === null,
    approval: (await store.findApproval(user.approvalId, now()))?.id ?? null,
  };
}

interface Scene {
  readonly location: string;
  readonly first: Awaited<ReturnType<typeof startProcess>>;
  readonly transmitter: TransmitterUnderTest;
  readonly user: Furnished;
}

const WAYS: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  async 'a command'({ location, user }) {
    const environment = { PORTCULLIS_DATABASE: location, PORTCULLIS_PUBLIC_URL: ISSUER };
    expect(
      await runHere(['users', 'disable', user.accountId], { environment, folder: tmpdir() }),
    ).toMatchObject({ code: 0 });
  },
  async 'deactivation by SCIM'({ first: { store, server } }) {
    const context = { store, clock: now, events: () => {} };
    const { token } = await createProvisioningTokenAdministration(context).create('acme', '', 600);
    const send = async (method: string, path: string, body: object) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' };
      const request = new Request(`${ISSUER}/scim/v2${path}`, {
        method,
        headers,
        body: JSON.stringify(body),
      });
      return (await (await server.handle(request)).json()) as {
        readonly id: string;
        readonly active: boolean;
      };
    };
    const schemas = ['urn:ietf:params:scim:schemas:core:2.0:User'];
    const { id } = await send('POST', '/Users', { schemas, userName: SUBJECT, externalId: SUBJECT });
    const operation = { op: 'replace', path: 'active', value: false };
    const patch = ['urn:ietf:params:scim:api:messages:2.0:PatchOp'];
    expect(await send('PATCH', `/Users/${id}`, { schemas: patch, Operations: [operation] })).toMatchObject({
      active: false,
    });
  },
  async 'a security event'({ first: { server }, transmitter }) {
    const token = await transmitter.sign({
      sub_id: { format: 'iss_sub', iss: transmitter.issuer, sub: SUBJECT },
      events: { 'https://schemas.openid.net/secevent/risc/event-type/account-disabled': {} },
    });
    const headers = { 'content-type': 'application/secevent+jwt' };
    const request = new Request(`${ISSUER}/shared-signals/acme`, { method: 'POST', headers, body: token });
    expect((await server.handle(request)).status).toBe(202);
  },
};

describe.each([
  { name: 'a SQLite file', places: sqliteFiles() },
  { name: 'PostgreSQL', places: postgresDatabases() },
])('with two processes on $name', ({ places }) => {
  it.each(Object.keys(WAYS))(
    '%s ends sessions, grants, connected accounts, pending approvals and open streams in both',
    async (way) => {
      const location = await places();
      const transmitter = await startTransmitter({ now: now() });
      const first = await startProcess(location, transmitter);
      const second = await startProcess(location, transmitter);
      const user = await furnish(first.store, transmitter.issuer);
      const { over } = await openStream(second.server, second.store, user);
      const expected = { sessions: 1, grants: 1, isLive: true, isConnected: true, approval: user.approvalId };
      expect([await stateOf(first, user), await stateOf(second, user)]).toEqual([expected, expected]);
      await WAYS[way]?.({ location, first, transmitter, user });
      const ended = { sessions: 0, grants: 0, isLive: false, approval: null };
      for (const each of [first, second]) expect(await stateOf(each, user)).toMatchObject(ended);
      expect(await over).toBe(true);
      // The tokens at the backend are ended by the job that revokes them there.
      await first.store.endConnectedAccountsOfRevokedGrants(now() - 600, now());
      for (const each of [first, second])
        expect(await stateOf(each, user)).toMatchObject({ ...ended, isConnected: false });
    },
  );
});
