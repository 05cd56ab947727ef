/** Any course of outages, lies, rotations and floods at a key server, and what must hold in each. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { createGuard, jwtVerifier } from '../src/index.ts';
import { createIssuer, ISSUER, NOW, RESOURCE, type TestIssuer } from './support/issuer.ts';

const LIMITS = { maxAge: 600, staleIfError: 3600, cooldown: 30, retryAfter: 5 };
const SKEW = 5;

/** Keys that the issuer makes one after another: it signs with the newest, and publishes that and the one before. */
let keys: readonly TestIssuer[];

beforeAll(async () => {
  const names = Array.from({ length: 12 }, (_, index) => `key-${index}`);
  keys = await Promise.all(names.map((name) => createIssuer(ISSUER, 'ES256', name)));
});

const MANNERS = {
  well: (published: unknown) => Response.json({ keys: published }),
  slow: async (published: unknown) => {
    await new Promise((resolve) => setTimeout(resolve, 2));
    return Response.json({ keys: published });
  },
  down: () => Promise.reject(new TypeError('fetch failed')),
  failing: () => new Response('', { status: 500 }),
  gone: () => new Response('', { status: 404 }),
  'a page': () => new Response('<html>'),
  empty: () => Response.json({ keys: [] }),
  null: () => Response.json(null),
  symmetric: () => Response.json({ keys: [{ kty: 'oct', k: 'AAAA', kid: 'key-0' }] }),
  broken: () => Response.json({ keys: [{ kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA', kid: 'key-0' }] }),
} as const;

type Manner = keyof typeof MANNERS;
const answers = (manner: Manner): boolean => manner === 'well' || manner === 'slow';

/** The issuer, its key server, and a guard elsewhere that remembers no token: each request needs a key. */
class World {
  now = NOW;
  manner: Manner = 'well';
  /** When each key was made; the first two long ago. */
  readonly madeAt: number[] = [NOW - 10_000, NOW - 10_000];
  /** When the guard asked for keys, and whether it got some. */
  readonly asked: { readonly at: number; good: boolean }[] = [];
  /** The last set that the guard got. */
  got: { readonly at: number; readonly names: readonly string[] } | null = null;
  /** Whether the guard has verified a token of the one grant. */
  isKnown = false;
  /** Answers that are on their way. */
  #pending = 0;
  readonly #admit: (authorization: string) => Promise<number>;

  constructor() {
    const verifier = jwtVerifier({
      issuer: ISSUER,
      jwksUri: `${ISSUER}/jwks`,
      keys: LIMITS,
      fetch: async () => this.#answer(),
    });
    const guard = createGuard({
      resource: RESOURCE,
      verifier,
      clock: () => this.now,
      clockTolerance: SKEW,
      tokenCacheSize: 0,
      events: () => {},
    });
    this.#admit = async (authorization) => {
      const decision = await guard.authorize({ method: 'GET', url: '/mcp', authorization });
      return decision.authorized ? 200 : decision.response.status;
    };
  }

  get made(): number {
    return this.madeAt.length;
  }

  get published(): readonly TestIssuer[] {
    return keys.slice(this.made - 2, this.made);
  }

  async #answer(): Promise<Response> {
    const question = { at: this.now, good: answers(this.manner) };
    this.asked.push(question);
    const { published } = this;
    if (question.good) this.got = { at: this.now, names: published.map(({ keyId }) => keyId) };
    this.#pending += 1;
    try {
      return await MANNERS[this.manner](published.map(({ publicJwk }) => publicJwk));
    } finally {
      this.#pending -= 1;
    }
  }

  /** Presents a token that was issued some seconds ago by a clock that may be late, and settles what runs behind. */
  async present(issuer: TestIssuer, age: number, header: Record<string, unknown> = {}): Promise<number> {
    const iat = this.now - age;
    // Forged tokens name no grant that exists.
    const claims = header['kid'] === 'junk' ? { grant_id: 'forged' } : {};
    const token = await issuer.token({ iat, exp: this.now + 600, ...claims }, header);
    const status = await this.#admit(`Bearer ${token}`);
    for (let turns = 0; turns < 5 || this.#pending > 0; turns += 1) await nextTurn();
    return status;
  }

  /** Whether the guard has a key and may use it. */
  mayUse(issuer: TestIssuer): boolean {
    const isFresh = this.got !== null && this.now < this.got.at + LIMITS.maxAge + LIMITS.staleIfError;
    return isFresh && this.got?.names.includes(issuer.keyId) === true;
  }

  /** Seconds until the guard may ask again. */
  wait(): number {
    const last = this.asked.at(-1);
    return last === undefined ? 0 : last.at + (last.good ? LIMITS.cooldown : LIMITS.retryAfter) - this.now;
  }
}

type Step =
  | { readonly do: 'wait'; readonly seconds: number }
  | { readonly do: 'behave'; readonly manner: Manner }
  | { readonly do: 'rotate' }
  | {
      readonly do: 'present';
      readonly token: 'newest' | 'older' | 'withdrawn' | 'junk';
      readonly age: number;
    };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('wait' as const), seconds: fc.oneof(fc.nat(40), fc.nat(5000)) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('behave' as const),
      manner: fc.constantFrom(...(Object.keys(MANNERS) as Manner[]), 'well' as const, 'well' as const),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'rotate' as const }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('present' as const),
      token: fc.constantFrom('newest' as const, 'older' as const, 'withdrawn' as const, 'junk' as const),
      age: fc.oneof(fc.nat(SKEW), fc.nat(500)),
    }),
  },
);

/** Presents a token, and says what had to come of it. */
async function present(world: World, { token, age }: Extract<Step, { do: 'present' }>): Promise<void> {
  const [older, newest] = world.published;
  const withdrawn = keys[world.made - 3];
  if (older === undefined || newest === undefined) throw new Error('no keys');
  if (token === 'newest' || token === 'older') {
    const issuer = token === 'newest' ? newest : older;
    const mayUse = world.mayUse(issuer);
    // A key signs from the moment it is made, and the clock of the issuer may be late by the skew.
    const oldest = world.now - (world.madeAt[keys.indexOf(issuer)] ?? 0) + SKEW;
    const mayAsk = world.wait() <= 0 && answers(world.manner);
    const status = await world.present(issuer, Math.min(age, oldest));
    // Before a token of its grant was verified, nothing tells it from a forged one.
    expect(world.isKnown ? [200, 503] : [200, 401, 503]).toContain(status);
    if (mayUse || mayAsk) expect(status).toBe(200);
    world.isKnown ||= status === 200;
    return;
  }
  if (token === 'junk') {
    // More of it than an issuer publishes keys may hide a new key from the tokens of grants that are not known yet.
    if (!world.isKnown) return;
    expect([401, 503]).toContain(await world.present(newest, age, { kid: 'junk' }));
  } else if (withdrawn !== undefined) {
    const mayUse = world.mayUse(withdrawn);
    const status = await world.present(withdrawn, age);
    if (!mayUse) expect([401, 503]).toContain(status);
  }
}

describe('keeps its promises through any sequence of outages, forged responses, rotations and floods', () => {
  const title =
    '[S-JWT-64] T098 never calls a valid token of a known grant invalid, accepts it while its key may be used, rejects foreign keys, and ' +
    'fetches keys once per cool-down and once more for a known grant, through any sequence of outages';
  it(title, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const world = new World();
        for (const one of steps) {
          if (one.do === 'wait') world.now += one.seconds;
          else if (one.do === 'behave') world.manner = one.manner;
          else if (one.do === 'present') await present(world, one);
          else if (world.made < keys.length) world.madeAt.push(world.now);
        }
        const early = world.asked.flatMap(({ at }, index) => {
          const before = world.asked[index - 1];
          if (before === undefined) return [];
          return at - before.at < (before.good ? LIMITS.cooldown : LIMITS.retryAfter) ? [at] : [];
        });
        for (const [index, at] of early.entries())
          expect((early[index + 1] ?? Number.POSITIVE_INFINITY) - at).toBeGreaterThanOrEqual(LIMITS.cooldown);
      }),
      { numRuns: 300 },
    );
  });
});
