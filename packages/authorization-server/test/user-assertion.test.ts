/** Assertions about users for token exchange: verifiable by the published keys, short, and no access tokens. */
import { createLocalJWKSet, jwtVerify } from 'jose';
import { expect, it } from 'vitest';
import { ISSUER, NOTES, startServer } from './server-under-test.ts';

const STS = 'https://sts.example';

it('an assertion about a user is signed with the published keys, for one audience and two minutes', async () => {
  const { server, clock } = await startServer();
  const assertion = await server.signUserAssertion({ subject: 'user_ada', clientId: 'desktop' }, STS);
  const { payload, protectedHeader } = await jwtVerify(assertion, createLocalJWKSet(await server.jwks()), {
    issuer: ISSUER,
    audience: STS,
    typ: 'JWT',
    currentDate: new Date(clock.now * 1000),
  });
  expect(protectedHeader.typ).toBe('JWT');
  expect(payload).toMatchObject({
    sub: 'user_ada',
    client_id: 'desktop',
    iat: clock.now,
    exp: clock.now + 120,
  });
  const next = await server.signUserAssertion({ subject: 'user_ada', clientId: 'desktop' }, STS);
  expect(next).not.toBe(assertion);
});

it('an assertion about a user is no access token of this server, whatever its audience', async () => {
  const { server, post, signIn } = await startServer();
  const assertion = await server.signUserAssertion({ subject: 'user_ada', clientId: 'desktop' }, NOTES);
  const authorization = `Basic ${btoa('notes-server:notes-server-secret')}`;
  const introspect = (token: string) => post('/introspect', { token }, { authorization });
  expect((await introspect(assertion)).body).toEqual({ active: false });
  const { body } = await signIn({ resources: [NOTES] });
  expect((await introspect(String(body['access_token']))).body).toMatchObject({ active: true });
});
