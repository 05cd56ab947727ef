/** Status lists at a remote guard: which it accepts, for how long, and attacks by lists (SSRF, decompression bombs). */

import { deflateSync } from 'node:zlib';
import { type CryptoKey, SignJWT } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import { ConfigurationError, combineVerifiers, createGuard } from '../src/index.ts';
import type { StatusListOptions } from '../src/verifiers/status-list/status-list-check.ts';
import { createIssuer, ISSUER, NOW, RESOURCE, type TestIssuer } from './support/issuer.ts';

const URI = `${ISSUER}/status-lists/0`;

let issuer: TestIssuer;
let now: number;
/** The current response of the issuer. */
let answer: (url: string) => Promise<Response> | Response;
let asked: string[];
/** Private reasons of rejections. */
let reasons: string[];

beforeEach(async () => {
  issuer = await createIssuer();
  now = NOW;
  asked = [];
  reasons = [];
  answer = async () => new Response(await list());
});

/** Packs statuses from entry 0 on, as the draft says. */
function pack(statuses: readonly number[], bits = 1): string {
  const bytes = Buffer.alloc(Math.ceil((statuses.length * bits) / 8));
  for (const [entry, status] of statuses.entries()) {
    const at = Math.floor((entry * bits) / 8);
    bytes[at] = (bytes[at] ?? 0) | (status << ((entry * bits) % 8));
  }
  return deflateSync(bytes).toString('base64url');
}

interface Making {
  readonly claims?: Record<string, unknown>;
  readonly header?: Record<string, unknown>;
  readonly key?: CryptoKey;
}

/** Signs a list, by default of eight valid tokens. */
function list(
  statuses: readonly number[] = Array(8).fill(0),
  making: Making = {},
  bits = 1,
): Promise<string> {
  const claims = {
    sub: URI,
    iat: now,
    exp: now + 600,
    ttl: 5,
    status_list: { bits, lst: pack(statuses, bits) },
    ...making.claims,
  };
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', typ: 'statuslist+jwt', kid: issuer.keyId, ...making.header })
    .sign(making.key ?? issuer.privateKey);
}

const tokenAt = (idx: unknown, uri: unknown = URI): Promise<string> =>
  issuer.token({ exp: NOW + 100_000, status: { status_list: { idx, uri } } });

function guardWith(options: StatusListOptions | true = {}) {
  const statusList = options === true ? { clock: () => now } : { clock: () => now, ...options };
  const fetch = async (url: string): Promise<Response> => {
    asked.push(url);
    return answer(url);
  };
  const verifier = combineVerifiers([issuer.verifier({ statusList, fetch, freshness: 100_000 })]);
  const guard = createGuard({
    resource: RESOURCE,
    verifier,
    clock: () => now,
    events: (event) => {
      if ('reason' in event) reasons.push(event.reason);
    },
  });
  return async (token: string): Promise<number> => {
    const decision = await guard.authorize({ method: 'GET', url: '/mcp', authorization: `Bearer ${token}` });
    if (decision.authorized) return 200;
    if (decision.response.status === 503) expect(decision.response.headers['retry-after']).toBe('1');
    return decision.response.status;
  };
}

/** Waits for background work of a request. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 5));

describe('a token', () => {
  it('accepts a token while its status entry is valid, and the list is fetched once', async () => {
    const ask = guardWith(true);
    const tokens = await Promise.all([0, 1, 7].map((idx) => tokenAt(idx)));
    expect(await Promise.all(tokens.map(ask))).toEqual([200, 200, 200]);
    expect(await Promise.all(tokens.map(ask))).toEqual([200, 200, 200]);
    expect(asked).toEqual([URI]);
  });

  it.each([1, 2, 4, 8])('checks a token by its own entry in a status list of %i bits', async (bits) => {
    const statuses = [0, 1, 0, 2 ** bits - 1, 0, 0, 1, 0, 0, 1];
    answer = async () => new Response(await list(statuses, {}, bits));
    const ask = guardWith();
    for (const [idx, status] of statuses.entries()) {
      expect(await ask(await tokenAt(idx))).toBe(status === 0 ? 200 : 401);
    }
    expect(asked.length).toBe(1);
  });

  it('keeps status lists in use, and evicts the least recently used one', async () => {
    answer = async (url) => new Response(await list(undefined, { claims: { sub: url } }));
    const ask = guardWith({ freshness: 500 });
    // The cache drops half of its lists at a time.
    const lists = Array.from({ length: 2 * 32 + 1 }, (_, place) => `${ISSUER}/status-lists/${place}`);
    const tokens = await Promise.all(lists.map((uri) => tokenAt(0, uri)));
    const [inUse = '', unneeded = ''] = tokens;
    for (const token of tokens) {
      now += 1;
      expect([await ask(token), await ask(inUse)]).toEqual([200, 200]);
    }
    expect(asked).toEqual(lists);
    expect([await ask(inUse), await ask(unneeded)]).toEqual([200, 200]);
    expect(asked).toEqual([...lists, lists[1]]);
  });

  // draft-ietf-oauth-status-list §4.1 and §4.2
  it.each([
    [1, 'eNrbuRgAAhcBXQ', [1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1]],
    [2, 'eNo76fITAAPfAgc', [1, 2, 0, 3, 0, 1, 0, 1, 1, 2, 3, 3]],
  ])('reads the status list example of the draft with %i bits', async (bits, lst, statuses) => {
    answer = async () => new Response(await list([], { claims: { status_list: { bits, lst } } }));
    const ask = guardWith();
    for (const [idx, status] of statuses.entries()) {
      expect(await ask(await tokenAt(idx))).toBe(status === 0 ? 200 : 401);
    }
    expect(await ask(await tokenAt(statuses.length))).toBe(401);
  });

  it.each<[string, unknown]>([
    ['beyond the end', 8],
    ['far beyond it', 2 ** 40],
    ['before the beginning', -1],
    ['between two', 0.5],
    ['that is no number', '0'],
  ])('rejects a token with a status entry %s, and no others', async (_which, idx) => {
    const ask = guardWith();
    expect(await ask(await tokenAt(idx))).toBe(401);
    expect(await ask(await tokenAt(0))).toBe(200);
  });

  it('rejects a token without a status list, unless that is allowed', async () => {
    const token = await issuer.token();
    expect(await guardWith()(token)).toBe(401);
    expect(reasons).toEqual(['the token names no status list']);
    expect(await guardWith({ withoutStatus: 'accept' })(token)).toBe(200);
    expect(asked).toEqual([]);
  });

  it.each([
    'https://evil.example/status-lists/0',
    'http://as.example/status-lists/0',
    'file:///etc/passwd',
    '',
  ])('never fetches a status list from another origin (SSRF): %s', async (uri) => {
    const ask = guardWith();
    expect(await ask(await tokenAt(0, uri))).toBe(401);
    expect(asked).toEqual([]);
    expect(await ask(await tokenAt(0))).toBe(200);
  });

  it('fetches a status list from another origin that the operator allows', async () => {
    const uri = 'https://status.example/lists/7';
    answer = async () => new Response(await list([0, 1], { claims: { sub: uri } }));
    const ask = guardWith({ origins: ['https://status.example'] });
    expect([await ask(await tokenAt(0, uri)), await ask(await tokenAt(1, uri))]).toEqual([200, 401]);
  });
});

describe('the bound', () => {
  it('T095 rejects a revoked token within ten seconds, in use or after a pause, and no other', async () => {
    for (const pause of [1, 3, 9, 500]) {
      now = NOW;
      answer = async () => new Response(await list());
      const ask = guardWith(true);
      const [token, other] = [await tokenAt(3), await tokenAt(4)];
      expect([await ask(token), await ask(other)]).toEqual([200, 200]);
      // Revoked at once; the issuer tells it after two seconds.
      answer = async () => new Response(await list(now < NOW + 2 ? [] : [0, 0, 0, 1, 0]));
      for (; now < NOW + 10; now += pause) {
        await ask(token);
        await settle();
      }
      expect([await ask(token), await ask(other)]).toEqual([401, 200]);
    }
  });

  it('T095 fetches a status list again whose response took too long, however slow the issuer is', async () => {
    const ask = guardWith({ freshness: 4 });
    const [token, other] = [await tokenAt(3), await tokenAt(4)];
    expect(await ask(token)).toBe(200);
    // Asked for behind a request, made before the token ended, and on its way until the list at hand is too old.
    const before = await list();
    const arrival = Promise.withResolvers<Response>();
    answer = () => arrival.promise;
    now += 1;
    expect(await ask(token)).toBe(200);
    answer = async () => new Response(await list([0, 0, 0, 1, 0]));
    now += 4;
    const late = [ask(token), ask(other)];
    arrival.resolve(new Response(before));
    expect(await Promise.all(late)).toEqual([401, 200]);
    expect(asked.length).toBe(3);
  });

  it('refreshes status lists in the background, single-flight, and only while they are needed', async () => {
    const ask = guardWith();
    const token = await tokenAt(0);
    expect(await ask(token)).toBe(200);
    now += 4;
    answer = () => new Promise(() => {});
    expect(await Promise.all(Array.from({ length: 50 }, () => ask(token)))).toEqual(Array(50).fill(200));
    expect(asked.length).toBe(2);
    await settle();
    expect(asked.length).toBe(2);
  });

  it('rejects a revoked token sooner with a shorter freshness', async () => {
    const ask = guardWith({ freshness: 4 });
    const token = await tokenAt(0);
    expect(await ask(token)).toBe(200);
    answer = async () => new Response(await list([1]));
    now += 2;
    expect(await ask(token)).toBe(401);
  });
});

describe('an outage', () => {
  it('accepts valid tokens for a minute of an outage, then responds 503, never 401, and recovers', async () => {
    const ask = guardWith();
    const token = await tokenAt(0);
    expect(await ask(token)).toBe(200);
    answer = () => Promise.reject(new TypeError('fetch failed'));
    for (now = NOW + 1; now < NOW + 70; now += 1) {
      expect([now - NOW, await ask(token)]).toEqual([now - NOW, 200]);
      await settle();
    }
    expect(await ask(token)).toBe(503);
    expect(asked.length).toBeLessThanOrEqual(70);
    answer = async () => new Response(await list());
    now += 1;
    expect(await ask(token)).toBe(200);
  });

  it('T095 never accepts a token again that was known to be revoked', async () => {
    answer = async () => new Response(await list([1]));
    const ask = guardWith();
    const token = await tokenAt(0);
    expect(await ask(token)).toBe(401);
    answer = () => Promise.reject(new TypeError('fetch failed'));
    for (const later of [5, 15, 69]) {
      now = NOW + later;
      expect(await ask(token)).toBe(401);
      await settle();
    }
  });

  it('recovers from an outage with the first request after it, however long there was none', async () => {
    const ask = guardWith();
    const token = await tokenAt(0);
    expect(await ask(token)).toBe(200);
    answer = () => Promise.reject(new TypeError('fetch failed'));
    now += 9;
    expect(await ask(token)).toBe(200);
    answer = async () => new Response(await list([1]));
    now += 30;
    expect(await ask(token)).toBe(401);
  });

  it('recovers with the first request after the clock was ahead, when each status list had expired', async () => {
    answer = async () => new Response(await list([0], { claims: { iat: NOW, exp: NOW + 600 } }));
    const ask = guardWith();
    const token = await tokenAt(0);
    now += 3600;
    expect(await ask(token)).toBe(503);
    now = NOW;
    expect(await ask(token)).toBe(200);
  });

  it('fetches a status list again that was fetched while the clock was ahead, although it was issued later', async () => {
    const ask = guardWith();
    const token = await tokenAt(0);
    now += 3600;
    expect(await ask(token)).toBe(200);
    now = NOW;
    answer = async () => new Response(await list([1]));
    expect(await ask(token)).toBe(401);
  });

  it('responds 503 during an outage at startup, and fetches the status list once a second', async () => {
    answer = () => new Response('', { status: 500 });
    const ask = guardWith();
    const tokens = await Promise.all([0, 1, 2].map((idx) => tokenAt(idx)));
    expect(await Promise.all(tokens.map(ask))).toEqual([503, 503, 503]);
    expect(await Promise.all(tokens.map(ask))).toEqual([503, 503, 503]);
    expect(asked.length).toBe(1);
    now += 1;
    answer = async () => new Response(await list());
    expect(await Promise.all(tokens.map(ask))).toEqual([200, 200, 200]);
  });

  it('responds 503 at once during an outage if the operator allows no stale status list', async () => {
    const ask = guardWith({ staleIfError: 0 });
    const token = await tokenAt(0);
    expect(await ask(token)).toBe(200);
    answer = () => Promise.reject(new TypeError('fetch failed'));
    now += 10;
    expect(await ask(token)).toBe(503);
  });
});

describe('an invalid status list', () => {
  const bomb = () => deflateSync(Buffer.alloc(8 * 1024 * 1024)).toString('base64url');

  it.each<[string, () => Promise<string> | string]>([
    ['is signed by another key', async () => list([0], { key: (await createIssuer()).privateKey })],
    ['names an unknown key', () => list([0], { header: { kid: 'other' } })],
    ['is an access token', () => issuer.token({ sub: URI, status_list: { bits: 1, lst: pack([0]) } })],
    ['is of no type', () => list([0], { header: { typ: 'JWT' } })],
    ['is another list', () => list([0], { claims: { sub: `${ISSUER}/status-lists/1` } })],
    ['is a list of another issuer', () => list([0], { claims: { iss: 'https://evil.example' } })],
    ['has expired', () => list([0], { claims: { exp: now } })],
    ['is from the future', () => list([0], { claims: { iat: now + 61 } })],
    ['is older than staleIfError allows', () => list([0], { claims: { iat: now - 71 } })],
    ['has no issue time', () => list([0], { claims: { iat: undefined } })],
    ['has entries of three bits', () => list([0], { claims: { status_list: { bits: 3, lst: pack([0]) } } })],
    ['has no entries', () => list([0], { claims: { status_list: { bits: 1 } } })],
    ['contains no list', () => list([0], { claims: { status_list: null } })],
    ['is not deflated', () => list([0], { claims: { status_list: { bits: 1, lst: 'AAAA' } } })],
    ['is a decompression bomb', () => list([0], { claims: { status_list: { bits: 1, lst: bomb() } } })],
    ['is too long', () => 'a'.repeat(300_000)],
    ['is an HTML page', () => '<html>'],
    ['is empty', () => ''],
  ])('rejects a status list that %s', async (_which, made) => {
    const ask = guardWith();
    const token = await tokenAt(0);
    answer = async () => new Response(await made());
    expect(await ask(token)).toBe(503);
    now += 1;
    answer = async () => new Response(await list());
    expect(await ask(token)).toBe(200);
  });

  it('never replaces a newer status list by an older one (rollback)', async () => {
    const old = await list([0]);
    now += 2;
    answer = async () => new Response(await list([1]));
    const ask = guardWith();
    const token = await tokenAt(0);
    expect(await ask(token)).toBe(401);
    answer = () => new Response(old);
    for (let seconds = 0; seconds < 60; seconds += 2) {
      now += 2;
      expect(await ask(token)).toBe(401);
      await settle();
    }
    now += 60;
    expect(await ask(token)).toBe(503);
  });

  it('never follows a redirect to a status list', async () => {
    answer = (url) =>
      url === URI
        ? new Response(null, { status: 302, headers: { location: 'https://evil.example/' } })
        : new Response('');
    const ask = guardWith();
    expect(await ask(await tokenAt(0))).toBe(503);
    expect(asked).toEqual([URI]);
  });
});

describe('a long list', () => {
  it('reads a status list of a million entries of which a tenth are set', async () => {
    const statuses = Array.from({ length: 2 ** 20 }, (_, at) => ((at * 2_654_435_761) % 97 < 10 ? 1 : 0));
    answer = async () => new Response(await list(statuses));
    const ask = guardWith();
    for (const idx of [0, 1, 2 ** 19 + 3, 2 ** 20 - 1]) {
      expect(await ask(await tokenAt(idx))).toBe(statuses[idx] === 0 ? 200 : 401);
    }
    expect(await ask(await tokenAt(2 ** 20))).toBe(401);
  });

  it('caches a bounded number of status lists', async () => {
    answer = async (url) => new Response(await list([0], { claims: { sub: url } }));
    const ask = guardWith();
    for (let number = 0; number < 65; number += 1) {
      expect(await ask(await tokenAt(0, `${ISSUER}/status-lists/${number}`))).toBe(200);
    }
    expect(asked.length).toBe(65);
    expect(await ask(await tokenAt(0, `${ISSUER}/status-lists/64`))).toBe(200);
    expect(asked.length).toBe(65);
    expect(await ask(await tokenAt(0, `${ISSUER}/status-lists/0`))).toBe(200);
    expect(asked.length).toBe(66);
  });
});

describe('options', () => {
  it.each<[string, () => unknown]>([
    ['freshness must be a number, 4 or more', () => guardWith({ freshness: 3 })],
    ['staleIfError must be a number, 0 or more', () => guardWith({ staleIfError: -1 })],
    ['http://status.example is not an https origin', () => guardWith({ origins: ['http://status.example'] })],
    ['https://status.example/lists is no', () => guardWith({ origins: ['https://status.example/lists'] })],
    [
      'isLive and statusList are mutually exclusive',
      () => issuer.verifier({ statusList: true, isLive: () => true }),
    ],
  ])('reports an issue of the status list options: %s', (issue, make) => {
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(issue);
  });
});
