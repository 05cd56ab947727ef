/**
 * Measures refreshes at the token endpoint beside an operator who reloads Overview and Activity of the console, over a filled SQLite store.
 * `node --conditions=portcullis-source bench/admin/beside-tokens.ts fill [millions of events]`, then without `fill`
 * `[seconds of a round] [rounds]`.
 */
import { hash, randomBytes } from 'node:crypto';
import { copyFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '@portcullis/store';
import { countMissing } from '../../packages/admin/src/operations/statistics/count-hours.ts';
import { owner, startPortcullis } from '../../tests/support/portcullis.ts';
import { createUser } from '../../tests/support/user.ts';
import { median } from '../harness/figures.ts';
import { fillSqlite } from './fill-sqlite.ts';

const [first = '5', second = '3'] = process.argv.slice(2);
/** Families of refresh tokens, each of which is refreshed one request after the other. */
const FAMILIES = 8;
const REDIRECT = 'http://127.0.0.1:9/callback';
const PAGES = [
  '/admin',
  '/admin/activity',
  '/admin?view=week',
  '/admin/activity?type=call.finished',
] as const;
const DAY = 86_400;

const template = join(tmpdir(), 'portcullis-beside-tokens.db');
if (first === 'fill') {
  const events = Number(second) * 1_000_000;
  await fillSqlite(
    template,
    { grants: events / 10, users: events / 100, events },
    'http://localhost:9000/mcp',
  );
  const filled = await openStore(template);
  await countMissing(filled, Date.now, null);
  await filled.close();
  // The server creates its first account at the start.
  const sqlite = new DatabaseSync(template);
  sqlite.exec('DELETE FROM accounts');
  sqlite.close();
  process.exit(0);
}
const [seconds, rounds] = [Number(first), Number(second)];
// A copy: its keys are encrypted under the key of one start.
const database = `${template}.copy`;
copyFileSync(template, database);
const portcullis = await startPortcullis({ admin: {}, rateLimits: false, log: 'none', database });

async function signIn(): Promise<string> {
  const cookie = randomBytes(32).toString('base64url');
  const store = await openStore(database);
  const account = await store.findAccountByEmail(owner.email);
  if (account === null) throw new Error('no owner');
  await store.setAccountRole(account.id, 'operator');
  const now = Math.floor(Date.now() / 1000);
  const times = { createdAt: now, expiresAt: now + DAY };
  const about = { accountId: account.id, address: null, browser: null, methods: ['pwd', 'otp', 'mfa'] };
  await store.saveSession(
    { hash: hash('sha256', cookie, 'base64url'), ...times, ...about },
    account.passwordHash,
  );
  await store.close();
  return `portcullis-${portcullis.port}-session=${cookie}`;
}

async function post(path: string, form: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const response = await fetch(`${portcullis.url}${path}`, {
    method: 'POST',
    body: new URLSearchParams(form),
  });
  const body = (await response.json()) as Record<string, string>;
  if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(body)}`);
  return body;
}

const registration = await fetch(`${portcullis.url}/register`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    redirect_uris: [REDIRECT],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
  }),
});
const { client_id: clientId = '' } = (await registration.json()) as { readonly client_id?: string };

/** @returns a refresh token */
async function authorize(): Promise<string> {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    ...{ response_type: 'code', client_id: clientId, redirect_uri: REDIRECT, resource: portcullis.resource },
    ...{ code_challenge: hash('sha256', verifier, 'base64url'), code_challenge_method: 'S256' },
  });
  const redirected = await createUser(owner).authorize(`${portcullis.url}/authorize?${query}`);
  const tokens = await post('/token', {
    ...{ grant_type: 'authorization_code', code: redirected.searchParams.get('code') ?? '' },
    ...{
      client_id: clientId,
      redirect_uri: REDIRECT,
      code_verifier: verifier,
      resource: portcullis.resource,
    },
  });
  return tokens['refresh_token'] ?? '';
}

const tokens: string[] = [];
while (tokens.length < FAMILIES) tokens.push(await authorize());
const cookie = await signIn();

/** What the operator does: nothing, a page each second, or one after the other. */
const OPERATORS = { 'no operator': null, 'a page a second': 1000, 'pages without a pause': 0 } as const;
const results = Object.keys(OPERATORS).map((name) => ({
  name,
  rates: [] as number[],
  halves: [] as number[],
  worst: [] as number[],
  processor: [] as number[],
  refreshes: 0,
  pages: [] as number[],
}));

async function runRound(pause: number | null, result: (typeof results)[number] | undefined): Promise<void> {
  const processorBefore = await portcullis.processorTime();
  const end = performance.now() + seconds * 1000;
  const times: number[] = [];
  const refresh = async (index: number) => {
    while (performance.now() < end) {
      const began = performance.now();
      const form = { grant_type: 'refresh_token', refresh_token: tokens[index] ?? '', client_id: clientId };
      tokens[index] = (await post('/token', form))['refresh_token'] ?? '';
      times.push(performance.now() - began);
    }
  };
  const operate = async () => {
    for (let count = 0; pause !== null && performance.now() < end; count += 1) {
      const began = performance.now();
      const shown = await fetch(`${portcullis.url}${PAGES[count % PAGES.length]}`, { headers: { cookie } });
      if (!shown.ok) throw new Error(`the console responds with ${shown.status}`);
      await shown.arrayBuffer();
      const took = performance.now() - began;
      result?.pages.push(took);
      await sleep(Math.max(0, pause - took));
    }
  };
  await Promise.all([...tokens.map((_, index) => refresh(index)), operate()]);
  result?.processor.push((await portcullis.processorTime()) - processorBefore);
  if (result !== undefined) result.refreshes += times.length;
  const sorted = times.toSorted((one, other) => one - other);
  result?.rates.push(times.length / seconds);
  result?.halves.push(sorted[Math.floor(sorted.length / 2)] ?? 0);
  result?.worst.push(sorted[Math.floor(sorted.length * 0.99)] ?? 0);
}

try {
  await runRound(0, undefined);
  for (let round = 0; round < rounds; round += 1)
    for (const [index, pause] of Object.values(OPERATORS).entries()) await runRound(pause, results[index]);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const [alone] = results;
  const each = sum(alone?.processor ?? []) / (alone?.refreshes ?? 1);
  console.log(`processor time of a refresh: ${each.toFixed(2)} ms`);
  for (const { name, rates, halves, worst, pages, processor, refreshes } of results) {
    const cost = (sum(processor) - refreshes * each) / pages.length;
    const about = `; ${pages.length} pages, half within ${median(pages).toFixed(0)} ms, ${cost.toFixed(1)} ms of processor time each`;
    console.log(
      `${name}: ${median(rates).toFixed(0)} refreshes/s (${rates.map((rate) => rate.toFixed(0)).join(', ')}), half within ${median(halves).toFixed(1)} ms, 99 % within ${median(worst).toFixed(1)} ms${pages.length === 0 ? '' : about}`,
    );
  }
} finally {
  await portcullis.stop();
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${database}${suffix}`, { force: true });
}
