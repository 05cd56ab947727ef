/** Whether a server that was killed and started again keeps its word: what clients were told holds, and nothing is half there. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { expect } from 'vitest';
import { isActive, redeem, refresh } from './browser.ts';
import type { Family, HeldCode, Ledger } from './ledger.ts';
import type { Place } from './places.ts';
import { type ServerProcess, send } from './servers.ts';
import { ISSUER, NOTES } from './world.ts';

/** Everything that can be told by asking, and then by looking into the store. The ledger goes on from there. */
export async function checkSurvivors(
  server: ServerProcess,
  place: Place,
  ledger: Ledger,
  keys: JSONWebKeySet,
): Promise<void> {
  expect(await publishedKeys(server)).toEqual(keys);
  await checkStore(place);
  for (const family of ledger.families) await checkFamily(server, family, keys);
  // To use a code again ends its grant, so that waits until the family is not needed any more.
  const given = ledger.families.splice(0, Math.max(0, ledger.families.length - MOST_KEPT));
  const isOver = ({ family }: HeldCode) => family === null || given.includes(family);
  for (const code of ledger.codes.filter(isOver)) await checkCode(server, code);
  ledger.codes.splice(0, ledger.codes.length, ...ledger.codes.filter((code) => !isOver(code)));
  for (const { id, path, token } of ledger.registrations) {
    const read = await send(server, path, { headers: { authorization: `Bearer ${token}` } });
    expect([read.status, read.body['client_id']]).toEqual([200, id]);
  }
  await checkStore(place);
  ledger.registrations.splice(0, Math.max(0, ledger.registrations.length - MOST_KEPT));
  for (const family of ledger.families) family.access.splice(0, family.access.length - 1);
}

/** Families and registrations that go on after a kill; the rest is checked for the last time. */
const MOST_KEPT = 10;

export async function publishedKeys(server: ServerProcess): Promise<JSONWebKeySet> {
  return (await send(server, '/jwks')).body as unknown as JSONWebKeySet;
}

async function checkFamily(server: ServerProcess, family: Family, keys: JSONWebKeySet): Promise<void> {
  const active = await Promise.all(family.access.map((token) => isActive(server, token)));
  if (family.ended === 'asked') family.ended = active[0] === true ? 'no' : 'yes';
  // Whether it ended or not: all of it did, or nothing.
  expect(active).toEqual(family.access.map(() => family.ended === 'no'));
  for (const token of family.access) {
    const { payload } = await jwtVerify(token, createLocalJWKSet(keys), { issuer: ISSUER, audience: NOTES });
    expect(payload['client_id']).toBe('web');
  }
  if (family.ended === 'yes') {
    expect((await refresh(server, family.refresh)).status).toBe(400);
    return;
  }
  await checkRefreshToken(server, family);
}

/** Whatever became of the last refresh: its token is answered, and each time with the same successor. */
async function checkRefreshToken(server: ServerProcess, family: Family): Promise<void> {
  if (family.former !== null && !family.isUnsure) {
    const replayed = await refresh(server, family.former);
    expect([replayed.status, replayed.body['refresh_token']]).toEqual([200, family.refresh]);
  }
  const answers = [await refresh(server, family.refresh), await refresh(server, family.refresh)];
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  const [successor, again] = answers.map(({ body }) => String(body['refresh_token']));
  expect(again).toBe(successor);
  expect(await isActive(server, String(answers[0]?.body['access_token']))).toBe(true);
  const next = await refresh(server, String(successor));
  expect(next.status).toBe(200);
  family.former = String(successor);
  family.refresh = String(next.body['refresh_token']);
  family.isUnsure = false;
}

/** An unused code works once; a used one not at all; one without an answer once at most. */
async function checkCode(server: ServerProcess, code: HeldCode): Promise<void> {
  const first = await redeem(server, code);
  const expected = { unused: [200], sent: [200, 400], redeemed: [400] }[code.state];
  expect(expected).toContain(first.status);
  expect((await redeem(server, code)).status).toBe(400);
}

/** Half a fact: what each query finds must not be. */
const HALVES = {
  'a code is spent if and only if its grant is there': `SELECT c.hash FROM authorization_codes c LEFT JOIN grants g
    ON g.id = c.grant_id WHERE (c.consumed_at IS NULL) <> (g.id IS NULL)`,
  'every grant has a refresh token': `SELECT id FROM grants WHERE refresh_token_hash IS NULL`,
  'every grant has its account': `SELECT g.id FROM grants g LEFT JOIN accounts a ON a.id = g.account_id WHERE a.id IS NULL`,
  'there is one signing key': `SELECT count(*) AS n FROM signing_keys HAVING count(*) <> 1`,
  'there is one account': `SELECT count(*) AS n FROM accounts HAVING count(*) <> 1`,
} as const;

async function checkStore({ ask }: Place): Promise<void> {
  // PostgreSQL may still be ending what the dead process had asked for.
  const findHalves = async () => {
    const found = Object.entries(HALVES).map(async ([rule, query]) =>
      (await ask(query)).length > 0 ? [rule] : [],
    );
    return (await Promise.all(found)).flat();
  };
  for (let tries = 0; tries < 400 && (await findHalves()).length > 0; tries += 1) await sleep(50);
  expect(await findHalves()).toEqual([]);
}
