/** While the master key is replaced process by process, every step of a sign-in may reach a process with the other key first. */
import { expect, it, onTestFinished } from 'vitest';
import {
  type AuthorizationServer,
  createAuthorizationServer,
  createKeyAdministration,
} from '../src/index.ts';
import { challengeOf, enrol } from './authenticator.ts';
import { createProofHolder } from './proofs.ts';
import {
  CALLBACK,
  CLIENTS,
  ISSUER,
  MASTER_KEY,
  RESOURCES,
  redemption,
  refreshing,
} from './server-under-test.ts';
import { createVisitor, decide, requestOf, setScene, VERIFIER } from './visitor.ts';

const NEW_MASTER_KEY = new Uint8Array(32).fill(9);

/** A process with the old key that knows the new one, and the reverse, behind a balancer that sends each request to the other one. */
async function startMixed(previousMasterKeys: readonly Uint8Array[]) {
  const t = await setScene({ previousMasterKeys, requireDpopNonces: true });
  const restarted = await createAuthorizationServer({
    ...{ issuer: ISSUER, store: t.store, resources: RESOURCES, clients: CLIENTS, clock: () => t.clock.now },
    ...{ masterKey: NEW_MASTER_KEY, previousMasterKeys: [MASTER_KEY], requireDpopNonces: true },
  });
  onTestFinished(() => restarted.close());
  let requests = 0;
  const handle: AuthorizationServer['handle'] = (request, connection) => {
    requests += 1;
    return (requests % 2 === 0 ? t.server : restarted).handle(request, connection);
  };
  const post = (form: Record<string, string>, headers: Readonly<Record<string, string>> = {}) =>
    handle(new Request(`${ISSUER}/token`, { method: 'POST', body: new URLSearchParams(form), headers }));
  return { ...t, visitor: createVisitor({ ...t.server, handle }, '192.0.2.1'), post };
}

const readJson = async (response: Response) => (await response.json()) as Readonly<Record<string, string>>;

it.each(['before', 'after'])(
  'sign-ins, refreshes, passkeys and DPoP nonces go on while processes know both master keys, %s re-encryption',
  async (phase) => {
    const t = await startMixed([NEW_MASTER_KEY]);
    const keys = createKeyAdministration({ store: t.store, masterKey: MASTER_KEY, clock: () => t.clock.now });
    if (phase === 'after') await keys.reencrypt(NEW_MASTER_KEY);
    t.clock.now += 31;

    const { left } = await decide(t.visitor, requestOf());
    const code = left?.searchParams.get('code') ?? '';
    const web = { client_secret: 'web-secret', redirect_uri: CALLBACK };
    let { refresh_token: token } = await readJson(
      await t.post({ ...redemption(code, VERIFIER, 'web'), ...web }),
    );
    for (const _ of [1, 2])
      ({ refresh_token: token } = await readJson(await t.post({ ...refreshing(token, 'web'), ...web })));
    expect(typeof token).toBe('string');

    await t.visitor.submit(await t.visitor.open('/account'), {}, '/logout');
    const { answer } = await enrol(t);
    const login = await t.visitor.open('/login');
    const used = await t.visitor.submit(login, { credential: answer(challengeOf(login)) }, '/login/passkey');
    expect(used.path).toBe('/connections');

    const holder = await createProofHolder();
    const issued = await t.issueCode();
    const form = redemption(issued.code, issued.verifier);
    const challenged = await t.post(form, await holder.prove(t.clock.now));
    expect(await readJson(challenged)).toMatchObject({ error: 'use_dpop_nonce' });
    const nonce = challenged.headers.get('dpop-nonce');
    expect((await t.post(form, await holder.prove(t.clock.now, { claims: { nonce } }))).status).toBe(200);
  },
);

it('a process that does not know the new master key rejects the forms of one that has it', async () => {
  const t = await startMixed([]);
  const login = await t.visitor.open('/login');
  const before = t.snapshot();
  const sent = await t.visitor.submit(login, { email: 'ada@example.org', password: 'wrong' }, '/login');
  expect([sent.status, t.snapshot()]).toEqual([403, before]);
});
