/** Fifty at once for one code and for one refresh token, on one server process and on three: one wins, and no user is signed out. */
import { describe, expect, it } from 'vitest';
import { authorize, isActive, redeem, refresh, signIn } from './browser.ts';
import { kinds, type Place } from './places.ts';
import { type Answer, type ServerProcess, startProcess } from './servers.ts';
import { sizes, TIMEOUT } from './sizes.ts';

const RACERS = 50;

const cases = kinds.flatMap((kind) => [1, 3].map((processes) => ({ kind, processes, title: kind.name })));

describe.concurrent.each(cases)('$title, $processes process(es)', ({ kind, processes }) => {
  it(
    `[AS-CODE-64] T137 T138: ${sizes.rounds} rounds of ${RACERS} at once`,
    async ({ onTestFinished: atEnd }) => {
      const place = await kind.make(atEnd);
      const servers = await Promise.all(
        Array.from({ length: processes }, () => startProcess(place.location, atEnd)),
      );
      const [first] = servers;
      if (first === undefined) throw new Error('no server');
      const signedIn = await signIn(first);
      for (let round = 0; round < sizes.rounds; round += 1) {
        const code = await authorize(first, signedIn);
        const tokens = checkRedemptions(await race(servers, (server) => redeem(server, code)));
        for (const server of servers) expect(await isActive(server, tokens.access)).toBe(true);
        const successor = checkRefreshes(await race(servers, (server) => refresh(server, tokens.refresh)));
        const last = await refresh(servers[round % processes] ?? first, successor);
        expect(last.status).toBe(200);
        expect(await isActive(first, tokens.access)).toBe(true);
      }
      for (const server of servers) expect(await server.stop()).toBe(0);
      await checkStore(place, sizes.rounds);
    },
    TIMEOUT,
  );
});

/** Lets fifty go at once, in turn to each server. */
function race(
  servers: readonly ServerProcess[],
  run: (server: ServerProcess) => Promise<Answer>,
): Promise<readonly Answer[]> {
  const [first] = servers;
  if (first === undefined) throw new Error('no server');
  return Promise.all(
    Array.from({ length: RACERS }, (_, index) => run(servers[index % servers.length] ?? first)),
  );
}

/** Exactly one has tokens; everybody else is told that the code is no good. */
function checkRedemptions(answers: readonly Answer[]): { readonly access: string; readonly refresh: string } {
  const winners = answers.filter(({ status }) => status === 200);
  const losers = answers.filter(({ status, body }) => status === 400 && body['error'] === 'invalid_grant');
  expect([winners.length, losers.length]).toEqual([1, RACERS - 1]);
  const body = winners[0]?.body;
  return { access: String(body?.['access_token']), refresh: String(body?.['refresh_token']) };
}

/** All get the same successor. */
function checkRefreshes(answers: readonly Answer[]): string {
  expect(answers.map(({ status, text }) => (status === 200 ? 200 : text))).toEqual(Array(RACERS).fill(200));
  const successors = new Set(answers.map(({ body }) => String(body['refresh_token'])));
  expect(successors.size).toBe(1);
  return [...successors].join();
}

/** What the store says afterwards: each round made one grant, which lives, and was rotated twice. */
async function checkStore({ ask }: Place, rounds: number): Promise<void> {
  // One more: that of the first sign-in.
  const grants = await ask('SELECT revoked_at, refresh_token_generation FROM grants');
  expect(grants.map(({ revoked_at: revokedAt }) => revokedAt)).toEqual(Array(rounds + 1).fill(null));
  expect(grants.filter(({ refresh_token_generation: generation }) => Number(generation) === 2)).toHaveLength(
    rounds,
  );
  const issued = `SELECT grant_id FROM audit_events WHERE type = 'token.issued' GROUP BY grant_id HAVING count(*) <> 1`;
  expect(await ask(issued)).toEqual([]);
  const rotated = `SELECT count(*) AS n FROM audit_events WHERE type = 'refresh_token.rotated'`;
  expect(Number((await ask(rotated))[0]?.['n'])).toBe(2 * rounds);
  expect(
    await ask(
      `SELECT id FROM audit_events WHERE type IN ('authorization_code.replayed', 'refresh_token.reuse_detected', 'request.failed')`,
    ),
  ).toEqual([]);
}
