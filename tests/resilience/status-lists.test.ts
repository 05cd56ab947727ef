/** Two server processes on one PostgreSQL, and a guard elsewhere that polls one of them: it learns in time what the other was told. */
import { createGuard, jwtVerifier } from '@portcullis/resource-server';
import { describe, expect, it } from 'vitest';
import { lastTaken } from '../support/last-accepted.ts';
import { authorize, redeem, refresh, signIn } from './browser.ts';
import { kinds } from './places.ts';
import { type AtEnd, type ServerProcess, send, startProcess } from './servers.ts';
import { TIMEOUT } from './sizes.ts';
import { credentialsOf, ISSUER, NOTES } from './world.ts';

/** Seconds in which a guard refuses what has ended, all told: a second of the servers, one of caches, two of its own. */
const BOUND = 4;

interface Tokens {
  readonly access: string;
  readonly refresh: string;
}

/** Two processes on one database; a guard that asks the second; users who sign in at the first. */
async function setStage(atEnd: AtEnd) {
  const [, postgres] = kinds;
  if (postgres === undefined) throw new Error('no PostgreSQL');
  const { location } = await postgres.make(atEnd);
  const start = () => startProcess(location, atEnd, 5, 'lists');
  const [told, polled] = await Promise.all([start(), start()]);
  const { ask, guard } = guardBeside(polled);
  const signedIn = await signIn(told);
  const issue = async (server: ServerProcess): Promise<Tokens> => {
    const { body } = await redeem(server, await authorize(server, signedIn));
    return { access: String(body['access_token']), refresh: String(body['refresh_token']) };
  };
  return { told, polled, ask, guard, issue };
}

/** A guard that knows the issuer, and reaches one process of it. */
function guardBeside(polled: ServerProcess) {
  const asked: string[] = [];
  const fetch = async (url: string): Promise<Response> => {
    const { pathname } = new URL(url);
    asked.push(pathname);
    const { status, headers, text } = await send(polled, pathname);
    return new Response(text, { status, headers });
  };
  const verifier = jwtVerifier({ issuer: ISSUER, fetch, statusList: { freshness: BOUND } });
  const guard = createGuard({ resource: NOTES, verifier, events: () => {} });
  const ask = async (token: string): Promise<number> => {
    const decision = await guard.authorize({
      method: 'GET',
      url: new URL(NOTES).pathname,
      authorization: `Bearer ${token}`,
    });
    return decision.authorized ? 200 : decision.response.status;
  };
  return { ask, guard: { asked } };
}

async function giveBack(server: ServerProcess, token: string): Promise<void> {
  const form = { token, ...credentialsOf('web') };
  expect((await send(server, '/revoke', { form })).status).toBe(200);
}

const WAYS: readonly (readonly [string, (tokens: Tokens) => string])[] = [
  ['a grant, by its refresh token', (tokens) => tokens.refresh],
  ['one access token alone', (tokens) => tokens.access],
];

describe('a guard that polls one of two processes', () => {
  it.for(WAYS)(
    'T095 T138: refuses within the bound what was ended at the other: %s; no other token is refused for a moment',
    { timeout: TIMEOUT },
    async ([_what, named], { onTestFinished: atEnd }) => {
      const { told, polled, ask, guard, issue } = await setStage(atEnd);
      const [ended, active, elsewhere] = [await issue(told), await issue(told), await issue(polled)];
      const others = [active.access, elsewhere.access];
      expect(await Promise.all([ended.access, ...others].map(ask))).toEqual([200, 200, 200]);
      await giveBack(told, named(ended));
      const taken = await lastTaken(async () => {
        const [first, ...rest] = await Promise.all([ended.access, ...others].map(ask));
        expect(rest).toEqual([200, 200]);
        return first ?? 0;
      });
      expect(taken).toBeLessThan(BOUND);
      // By the list alone: of no token was anybody asked.
      expect(new Set(guard.asked)).toEqual(
        new Set(['/.well-known/oauth-authorization-server', '/jwks', '/status-lists/0']),
      );
      const late = [...others, (await issue(told)).access];
      expect(await Promise.all(late.map(ask))).toEqual([200, 200, 200]);
    },
  );

  it(
    'T095 T139: refuses it although the process that was told of it is killed at once',
    async ({ onTestFinished: atEnd }) => {
      const { told, ask, issue } = await setStage(atEnd);
      const [ended, active] = [await issue(told), await issue(told)];
      expect(await Promise.all([ended, active].map(({ access }) => ask(access)))).toEqual([200, 200]);
      await giveBack(told, ended.refresh);
      await told.kill();
      expect(await lastTaken(() => ask(ended.access))).toBeLessThan(BOUND);
      expect(await ask(active.access)).toBe(200);
    },
    TIMEOUT,
  );

  it(
    'T095: takes the next token of who lost one alone, whichever process gives it',
    async ({ onTestFinished: atEnd }) => {
      const { told, polled, ask, issue } = await setStage(atEnd);
      const lone = await issue(told);
      expect(await ask(lone.access)).toBe(200);
      await giveBack(told, lone.access);
      await lastTaken(() => ask(lone.access));
      // The entries of a holder are eight, of which one is spent: each process gives out the others only.
      let token = lone.refresh;
      for (let round = 0; round < 20; round += 1) {
        const { body } = await refresh(round % 2 === 0 ? told : polled, token);
        token = String(body['refresh_token']);
        expect([round, await ask(String(body['access_token']))]).toEqual([round, 200]);
      }
      expect(await ask(lone.access)).toBe(401);
    },
    TIMEOUT,
  );
});
