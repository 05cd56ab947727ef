/** The whole command while its database is away: probes, counts, pages, tokens, and the guard of the application beside it. */
import { describe, expect, it } from 'vitest';
import { startPortcullis } from '../support/portcullis.ts';
import { startServer } from '../support/postgres.ts';
import { TIMEOUT } from './sizes.ts';

const robot = {
  client_id: 'robot',
  client_secret: 'a secret of this robot, long enough',
  grant_types: ['client_credentials'],
  scope: 'notes:read',
  token_endpoint_auth_method: 'client_secret_post',
};

/** How a path is answered: while all is well, and while the database is away. */
interface Row {
  readonly path: string;
  readonly well: number;
  readonly away: number;
}

const ROWS: readonly Row[] = [
  { path: '/healthz', well: 200, away: 200 },
  { path: '/readyz', well: 200, away: 503 },
  { path: '/metrics', well: 200, away: 200 },
  { path: '/', well: 200, away: 200 },
  { path: '/jwks', well: 200, away: 200 },
  { path: '/.well-known/oauth-protected-resource/mcp', well: 200, away: 200 },
  { path: '/login', well: 200, away: 200 },
  { path: '/nowhere', well: 404, away: 404 },
];

describe('while PostgreSQL is stopped', () => {
  it(
    '[AS-REVOKE-64] T139: the command tells probes the truth, keeps counting, and refuses no token that stands',
    async ({ onTestFinished: atEnd }) => {
      const postgres = await startServer();
      atEnd(postgres.stop);
      const portcullis = await startPortcullis({ database: postgres.url, clients: [robot], log: 'json' });
      atEnd(async () => void (await portcullis.stop()));
      const ask = (path: string) => fetch(portcullis.url + path);
      const form = { grant_type: 'client_credentials', resource: portcullis.resource, ...robot };
      const askToken = () => {
        const { grant_types: _grants, token_endpoint_auth_method: _method, ...sent } = form;
        return fetch(`${portcullis.url}/token`, { method: 'POST', body: new URLSearchParams(sent) });
      };
      const token = ((await (await askToken()).json()) as { access_token: string }).access_token;
      const call = (bearer: string) =>
        fetch(portcullis.resource, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${bearer}`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
          },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
        });
      const look = async () => {
        const told: Record<string, number> = {};
        for (const { path } of ROWS) told[path] = (await ask(path)).status;
        return told;
      };
      const expected = (state: 'well' | 'away') =>
        Object.fromEntries(ROWS.map((row) => [row.path, row[state]]));
      expect(await look()).toEqual(expected('well'));
      expect((await call(token)).status).toBe(200);

      await postgres.halt();
      expect(await look()).toEqual(expected('away'));
      expect((await ask('/readyz')).headers.get('retry-after')).toBe('5');
      const held = await call(token);
      expect([held.status, held.headers.has('www-authenticate')]).toEqual([503, false]);
      expect(Number(held.headers.get('retry-after'))).toBeGreaterThan(0);
      // Who has nothing to show is refused as ever.
      expect((await call('a.b.c')).status).toBe(401);
      const counted = await (await ask('/metrics')).text();
      expect(counted).toContain('portcullis_http_responses_total{path="other",status="503"} 2');

      await postgres.resume();
      await expect.poll(async () => (await ask('/readyz')).status).toBe(200);
      expect(await look()).toEqual(expected('well'));
      expect([(await call(token)).status, (await askToken()).status]).toEqual([200, 200]);
    },
    TIMEOUT,
  );

  it(
    'T139: with `freshness`, a token that was live a moment before is accepted for that time',
    async ({ onTestFinished: atEnd }) => {
      const postgres = await startServer();
      atEnd(postgres.stop);
      const portcullis = await startPortcullis({
        database: postgres.url,
        clients: [robot],
        freshness: 3,
        log: 'json',
      });
      atEnd(async () => void (await portcullis.stop()));
      const { grant_types: _grants, token_endpoint_auth_method: _method, ...credentials } = robot;
      const form = { grant_type: 'client_credentials', resource: portcullis.resource, ...credentials };
      const issue = async (): Promise<string> => {
        const response = await fetch(`${portcullis.url}/token`, {
          method: 'POST',
          body: new URLSearchParams(form),
        });
        return ((await response.json()) as { access_token: string }).access_token;
      };
      const [used, unused] = [await issue(), await issue()];
      const call = async (bearer: string) => {
        const headers = {
          authorization: `Bearer ${bearer}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        };
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
        return (await fetch(portcullis.resource, { method: 'POST', headers, body })).status;
      };
      expect(await call(used)).toBe(200);
      await postgres.halt();
      expect([await call(used), await call(unused)]).toEqual([200, 503]);
      await expect.poll(() => call(used), { interval: 200 }).toBe(503);
      await postgres.resume();
      await expect.poll(() => call(used)).toBe(200);
    },
    TIMEOUT,
  );
});
