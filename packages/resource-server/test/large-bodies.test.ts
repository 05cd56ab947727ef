/** Large bodies: how much of them a guard reads, and for whom. */
import { beforeAll, describe, expect, it } from 'vitest';
import { ConfigurationError, createGuard, type GuardEvent, type SharedGuardOptions } from '../src/index.ts';
import { createIssuer, NOW, RESOURCE, type TestIssuer } from './support/issuer.ts';

let issuer: TestIssuer;

beforeAll(async () => {
  issuer = await createIssuer();
});

const MEBIBYTE = 1024 * 1024;
const text = (length: number): string => `"${'x'.repeat(length - 2)}"`;

/** A guard that reads bodies, and what it makes of them. */
function startGuard(options: SharedGuardOptions = {}) {
  const clock = { now: NOW };
  const events: GuardEvent[] = [];
  const guard = createGuard({
    resource: RESOURCE,
    scopesFor: ({ tool }) => (tool === 'write' ? ['write'] : []),
    verifier: issuer.verifier(),
    clock: () => clock.now,
    events: (event) => events.push(event),
    ...options,
  });
  const post = async (body: string | Uint8Array, sub = 'alice') => {
    const authorization = `Bearer ${await issuer.token({ sub })}`;
    let limit = 0;
    const read = async (most: number): Promise<unknown> => {
      limit = most;
      return body;
    };
    const decision = await guard.authorize({ method: 'POST', url: '/mcp', authorization, body: read });
    return decision.authorized
      ? { status: 200, limit }
      : { status: decision.response.status, limit, headers: decision.response.headers };
  };
  return { clock, events, post };
}

describe('large bodies', () => {
  it('[ALL-HTTP-61] are read up to 1 MiB by default', async () => {
    const { post } = startGuard();
    expect(await post(text(MEBIBYTE))).toEqual({ status: 200, limit: MEBIBYTE });
  });

  it('[ALL-HTTP-61] are refused with too many members or values, of which others are accepted', async () => {
    const { post } = startGuard({ bodyBudget: false });
    const members = (count: number): string =>
      `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join()}}`;
    const values = (count: number): string => `[${'1,'.repeat(count - 2)}1]`;
    const bodies = [members(10_000), members(10_001), values(100_000), values(100_001)];
    const statuses: number[] = [];
    for (const body of bodies) statuses.push((await post(body)).status);
    expect(statuses).toEqual([200, 400, 200, 400]);
  });

  it('[ALL-HTTP-61] are limited in bytes by user, without effect on others', async () => {
    const { post, clock, events } = startGuard({ bodyLimit: 50_000, bodyBudget: 20_000 });
    expect([(await post(text(50_000))).status, (await post(text(30_000))).status]).toEqual([200, 200]);
    const refused = await post(text(17_000));
    expect([refused.status, refused.headers?.['retry-after']]).toEqual([429, '1']);
    expect(events).toMatchObject([{ status: 429, reason: 'the user sends too many large bodies' }]);
    // Small ones are free, and so are those of others.
    expect((await post(new TextEncoder().encode(text(16_384)))).status).toBe(200);
    expect((await post(text(50_000), 'bob')).status).toBe(200);
    clock.now += 1;
    expect((await post(text(17_000))).status).toBe(200);
    expect((await post(new TextEncoder().encode(text(17_000)))).status).toBe(429);
  });

  it('may be unlimited in bytes by user, and the budget cannot be zero', async () => {
    const { post } = startGuard({ bodyBudget: false });
    for (let round = 0; round < 6; round += 1) expect((await post(text(MEBIBYTE))).status).toBe(200);
    expect(() => startGuard({ bodyBudget: 0 })).toThrow(ConfigurationError);
    expect(() => startGuard({ bodyBudget: '1' as never })).toThrow('bodyBudget must be a whole number');
  });
});
