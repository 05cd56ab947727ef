/** Software statements of trusted issuers at dynamic registration. */
import { expect, it } from 'vitest';
import { startAssertionIssuer } from './assertion-issuer.ts';
import { CALLBACK, startServer } from './server-under-test.ts';

async function setScene() {
  const issuer = await startAssertionIssuer();
  const t = await startServer({ registration: { softwareStatementIssuers: [issuer.issuer] } });
  const register = (software_statement: string) =>
    t.register({ redirect_uris: [CALLBACK], client_name: 'Mine', software_statement });
  return { ...t, issuer, register };
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

it('[AS-DCR-70] rejects a software statement that another key signed', async () => {
  const [t, evil] = [await setScene(), await startAssertionIssuer()];
  const { body } = await t.register(await evil.workload({ ...claims, iss: t.issuer.issuer }));
  expect(body['error']).toBe('invalid_software_statement');
});
