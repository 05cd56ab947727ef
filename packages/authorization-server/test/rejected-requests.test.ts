/** What the audit log says about a rejected authorization request, so that the reference on the page explains it to the operator. */
import { expect, it } from 'vitest';
import { CALLBACK, type ServerUnderTest, startServer } from './server-under-test.ts';

const OTHER = 'http://127.0.0.1:43117/callback';

async function register(t: ServerUnderTest): Promise<string> {
  const { body } = await t.register({ redirect_uris: [CALLBACK, OTHER], token_endpoint_auth_method: 'none' });
  return String(body['client_id']);
}

function authorize(t: ServerUnderTest, clientId: string, redirectUri: string) {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    state: 'state',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  });
  return t.send(`/authorize?${query}`);
}

const lastRejection = ({ events }: ServerUnderTest) =>
  events.findLast(({ type }) => type === 'request.rejected');

it('a redirect URI that is not registered is recorded with the client, the requested and the registered ones, which the page does not show', async () => {
  const t = await startServer();
  const clientId = await register(t);
  const before = t.snapshot();
  const { status, text } = await authorize(t, clientId, `${CALLBACK}/other`);
  expect([status, t.snapshot()]).toEqual([400, before]);
  expect(lastRejection(t)).toMatchObject({
    endpoint: '/authorize',
    clientId,
    requestedRedirectUri: `${CALLBACK}/other`,
    registeredRedirectUris: [CALLBACK, OTHER],
    reference: expect.stringMatching(/^[2-9A-Z]{4}-[2-9A-Z]{4}$/),
  });
  expect(text).not.toContain(OTHER);
  expect((await authorize(t, clientId, CALLBACK)).status).toBe(303);
});

it('a request without a redirect URI is recorded with the registered ones, if there are several', async () => {
  const t = await startServer();
  const clientId = await register(t);
  await t.send(`/authorize?response_type=code&client_id=${clientId}`);
  expect(lastRejection(t)).toMatchObject({ clientId, registeredRedirectUris: [CALLBACK, OTHER] });
  expect(lastRejection(t)).not.toHaveProperty('requestedRedirectUri');
});

it('an unknown client is recorded with the identifier that it sent', async () => {
  const t = await startServer();
  const clientId = (await register(t)).replace(/.{5}$/, 'xxxxx');
  expect((await authorize(t, clientId, CALLBACK)).status).toBe(400);
  expect(lastRejection(t)).toMatchObject({ error: 'invalid_client', clientId });
});

it('a `client_id` that cannot be one, and user information in a redirect URI, are not recorded: they may be secrets', async () => {
  const t = await startServer();
  await authorize(t, 'a-code-in-the-wrong-place', CALLBACK);
  expect(lastRejection(t)).not.toHaveProperty('clientId');
  await authorize(t, await register(t), 'https://ada:secret@app.example/cb');
  expect(lastRejection(t)).toMatchObject({ requestedRedirectUri: 'https://…@app.example/cb' });
});

it('an expired authorization transaction is recorded with what expired, and its identifier', async () => {
  const t = await startServer();
  const clientId = await register(t);
  const location = (await authorize(t, clientId, CALLBACK)).headers.get('location') ?? '';
  const started = t.events.findLast(({ type }) => type === 'authorization.started');
  t.clock.now += 601;
  expect((await t.send(location)).status).toBe(400);
  expect(lastRejection(t)).toMatchObject({
    error: 'gone',
    reason: 'the authorization transaction was completed, or expired after 600 seconds',
    transactionId: started?.transactionId,
  });
});

it('a transaction in another browser is recorded with its client', async () => {
  const t = await startServer();
  const clientId = await register(t);
  const location = (await authorize(t, clientId, CALLBACK)).headers.get('location') ?? '';
  expect((await t.send(location)).status).toBe(403);
  expect(lastRejection(t)).toMatchObject({
    error: 'no-cookie',
    clientId,
    reason: 'the browser did not send the cookie of the authorization transaction',
  });
});

it('an identifier that no transaction can have is not recorded as one', async () => {
  const t = await startServer();
  await t.send('/login?flow=%3Cscript%3E');
  expect(lastRejection(t)).not.toHaveProperty('transactionId');
});
