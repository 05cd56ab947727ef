/** Software statements of trusted issuers at dynamic registration. */
import { expect, it } from 'vitest';
import { startAssertionIssuer } from './assertion-issuer.ts';
import { CALLBACK, startServer } from './server-under-test.ts';

async function setScene() {
  const issuer = await startAssertionIssuer();
  const t = await startServer({ registration: { softwareStatementIssuers: [issuer.issuer] } });
  const register = (software_statement: string) =>
    t.register({ redirect_uris: [CALLBACK], client_name: 'Mine', software_statement });
  /** Reads, or updates with a document. @see RFC 7592 §2 */
  const manage = (registered: Readonly<Record<string, unknown>>, document?: object) =>
    t.send(new URL(String(registered['registration_client_uri'])).pathname, {
      method: document === undefined ? 'GET' : 'PUT',
      headers: {
        authorization: `Bearer ${registered['registration_access_token']}`,
        'content-type': 'application/json',
      },
      ...(document !== undefined && {
        body: JSON.stringify({ client_id: registered['client_id'], redirect_uris: [CALLBACK], ...document }),
      }),
    });
  return { ...t, issuer, register, manage };
}

const claims = { client_name: 'Signed name', software_id: 'acme-1' };

it('[AS-DCR-70] a software statement of a trusted issuer is returned unmodified, and its values win', async () => {
  const t = await setScene();
  const statement = await t.issuer.workload({
    ...claims,
    client_id: 'chosen',
    exp: undefined,
    aud: undefined,
  });
  const { status, body } = await t.register(statement);
  expect(status).toBe(201);
  expect(body).toMatchObject({ ...claims, redirect_uris: [CALLBACK], software_statement: statement });
  expect(body['client_id']).not.toBe('chosen');
});

it.each<[string, object, string]>([
  ['of another issuer', { iss: 'https://evil.example' }, 'unapproved_software_statement'],
  ['that has expired', { exp: 2 }, 'invalid_software_statement'],
  ['for another server', { aud: 'https://other.example' }, 'invalid_software_statement'],
])('[AS-DCR-70] rejects a software statement %s', async (_what, changes, error) => {
  const t = await setScene();
  const before = t.snapshot();
  const { status, body } = await t.register(await t.issuer.workload({ ...claims, ...changes }));
  expect([status, body['error']]).toEqual([400, error]);
  expect(t.snapshot()).toBe(before);
});

it.each(['oauth-id-jag+jwt', 'at+jwt', 'logout+jwt', 'client-authentication+jwt'])(
  '[AS-DCR-70] rejects another kind of token of the issuer as a software statement: %s',
  async (typ) => {
    const t = await setScene();
    const before = t.snapshot();
    const { status, body } = await t.register(await t.issuer.workload(claims, { typ }));
    expect([status, body['error']]).toEqual([400, 'invalid_software_statement']);
    expect(t.snapshot()).toBe(before);
    expect((await t.register(await t.issuer.workload(claims, { typ: undefined }))).status).toBe(201);
  },
);

it('[AS-DCR-70] rejects a software statement that another key signed', async () => {
  const [t, evil] = [await setScene(), await startAssertionIssuer()];
  const { body } = await t.register(await evil.workload({ ...claims, iss: t.issuer.issuer }));
  expect(body['error']).toBe('invalid_software_statement');
});

it.each<[string, (statement: string) => object]>([
  ['with another value', () => ({ client_name: 'Mine again', software_id: 'evil-2' })],
  ['without the values', () => ({})],
  [
    'with the statement and another value',
    (software_statement) => ({ software_statement, client_name: 'Mine again' }),
  ],
])(
  '[AS-DCR-70] an update %s does not change what the statement says, also after it has expired',
  async (_what, changes) => {
    const t = await setScene();
    const statement = await t.issuer.workload(claims);
    const { body: registered } = await t.register(statement);
    t.clock.now += 86_400;
    const expected = { ...claims, software_statement: statement };
    const { status, body } = await t.manage(registered, {
      ...changes(statement),
      contacts: ['a@example.org'],
    });
    expect([status, body]).toMatchObject([200, { ...expected, contacts: ['a@example.org'] }]);
    const { body: read } = await t.manage(registered);
    expect(read).toMatchObject({ ...expected, contacts: ['a@example.org'] });
  },
);

it('[AS-DCR-70] an update with a newer statement of a trusted issuer replaces the values, and one of another does not', async () => {
  const [t, evil] = [await setScene(), await startAssertionIssuer()];
  const { body: registered } = await t.register(await t.issuer.workload(claims));
  const before = t.snapshot();
  const forged = await evil.workload({ client_name: 'Evil' });
  const { status, body } = await t.manage(registered, { software_statement: forged });
  expect([status, body['error']]).toEqual([400, 'unapproved_software_statement']);
  expect(t.snapshot()).toBe(before);
  const software_statement = await t.issuer.workload({ ...claims, client_name: 'Renamed' });
  const { body: updated } = await t.manage(registered, { software_statement });
  expect(updated).toMatchObject({ client_name: 'Renamed', software_statement });
});

it.each([[undefined], [null], ['']])(
  '[AS-DCR-70] an update with the statement %j keeps that of the registration, and its values',
  async (statement) => {
    const t = await setScene();
    const software_statement = await t.issuer.workload(claims);
    const { body: registered } = await t.register(software_statement);
    const changes = { client_name: 'Your bank', contacts: ['a@example.org'], software_statement: statement };
    const { status, body } = await t.manage(registered, changes);
    expect(status).toBe(200);
    expect(body).toMatchObject({ ...claims, contacts: ['a@example.org'], software_statement });
  },
);

it('[AS-DCR-70] an administrator can change a client that registered with a statement', async () => {
  const t = await setScene();
  const software_statement = await t.issuer.workload(claims);
  const { body } = await t.register(software_statement);
  const changes = { contacts: ['a@example.org'] };
  const updated = await t.server.clients.update(String(body['client_id']), changes);
  expect(updated).toMatchObject({ ...claims, ...changes, software_statement });
});

it('[AS-DCR-70] rejects a software statement of more than 16 KiB', async () => {
  const t = await setScene();
  const before = t.snapshot();
  const { body } = await t.register(await t.issuer.workload({ ...claims, padding: 'x'.repeat(16 * 1024) }));
  expect(body['error']).toBe('invalid_software_statement');
  expect(t.snapshot()).toBe(before);
});
