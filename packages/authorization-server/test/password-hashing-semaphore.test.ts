/** The password hashing semaphore: priority of known users and fair queues under load. */
import { describe, expect, it } from 'vitest';
import {
  createPasswordHashingSemaphore,
  type HashRequester,
} from '../src/rate-limit/password-hashing-semaphore.ts';
import { EMAIL, PASSWORD, requestOf, type Scene, type Sight, setScene } from './visitor.ts';

const KNOWN = { isKnown: true, fairnessKey: 'ada' };
const unknownRequester = (fairnessKey: string): HashRequester => ({ isKnown: false, fairnessKey });

/** A semaphore that is busy until `end`; collects the outcomes of all requests in their order. */
function startBusy(waiting: number) {
  const semaphore = createPasswordHashingSemaphore({ running: 1, waiting });
  const happened: string[] = [];
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
  const all: Promise<unknown>[] = [semaphore.run(unknownRequester('first'), () => finished)];
  return {
    ask(name: string, asker: HashRequester) {
      const turn = semaphore.run(asker, async () => void happened.push(name));
      all.push(turn.catch(({ status, retryAfter }) => happened.push(`${name}: ${status}, ${retryAfter}`)));
    },
    /** @returns what became of them */
    async end(): Promise<readonly string[]> {
      finish();
      await Promise.all(all);
      return happened;
    },
  };
}

describe('the password hashing semaphore', () => {
  it('lets a few hashes run, a few wait, and rejects the rest with 503', async () => {
    const semaphore = createPasswordHashingSemaphore({ running: 2, waiting: 3 });
    let running = 0;
    let most = 0;
    const task = async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return 'done';
    };
    const outcomes = await Promise.allSettled(
      Array.from({ length: 9 }, (_, n) => semaphore.run(unknownRequester(`192.0.2.${n}`), task)),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
    for (const outcome of outcomes.slice(5)) {
      expect(outcome).toMatchObject({
        reason: { code: 'temporarily_unavailable', status: 503, retryAfter: 2 },
      });
    }
    expect(most).toBe(2);
    await expect(semaphore.run(KNOWN, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await semaphore.run(KNOWN, task)).toBe('done');
  });

  it('serves known users first, and every fourth turn another', async () => {
    const t = startBusy(8);
    for (const name of ['s1', 's2', 's3']) t.ask(name, unknownRequester(name));
    for (let n = 1; n <= 7; n++) t.ask(`k${n}`, KNOWN);
    expect(await t.end()).toEqual(['k1', 'k2', 'k3', 's1', 'k4', 'k5', 'k6', 's2', 'k7', 's3']);
  });

  it('keeps places for known users when the other queue is full, and the other way round', async () => {
    const t = startBusy(2);
    for (const n of [1, 2, 3]) t.ask(`s${n}`, unknownRequester(`${n}`));
    for (const n of [1, 2, 3]) t.ask(`k${n}`, { isKnown: true, fairnessKey: `${n}` });
    expect((await t.end()).toSorted()).toEqual(['k1', 'k2', 'k3: 503, 2', 's1', 's2', 's3: 503, 2']);
  });

  it('gives one site all places until another site wants one, then shares them', async () => {
    const t = startBusy(4);
    for (let n = 1; n <= 5; n++) t.ask(`a${n}`, unknownRequester('a'));
    for (let n = 1; n <= 3; n++) t.ask(`b${n}`, unknownRequester('b'));
    t.ask('c', unknownRequester('c'));
    // The fifth was one too many; then each newcomer gets the place of the last of those who hold more than it.
    const outcomes = await t.end();
    const refused = outcomes.filter((one) => one.includes('503')).toSorted();
    expect(refused).toEqual(['a2', 'a3', 'a4', 'a5', 'b3'].map((name) => `${name}: 503, 2`));
    expect(outcomes.filter((one) => !one.includes('503'))).toEqual(['a1', 'b1', 'c', 'b2']);
  });
});

describe('signing in during a flood of guesses', () => {
  /** More at once than there are places, from networks of one site, each at another account. */
  async function flood(t: Scene): Promise<readonly Promise<Sight>[]> {
    const one = t.newVisitor('2001:db8:9:ffff::1');
    const login = await one.open(requestOf());
    return Array.from({ length: 45 }, (_, n) => {
      const thief = t.newVisitor(`2001:db8:9:${n.toString(16)}::1`);
      for (const [name, value] of one.cookies) thief.cookies.set(name, value);
      return thief.submit(login, { email: `user${n}@example.org`, password: 'wrong' });
    });
  }

  it('T075: lets in a user from another network, and a known user even from the same site', async () => {
    const t = await setScene();
    await t.visitor.signIn(requestOf());
    const among = t.newVisitor('2001:db8:9:eeee::1');
    for (const [name, value] of t.visitor.cookies) among.cookies.set(name, value);
    const logins = await Promise.all(
      [t.visitor, among, t.newVisitor('198.51.100.7')].map(async (owner) => ({
        owner,
        login: await owner.open(requestOf({ prompt: 'login' })),
      })),
    );
    const guesses = await flood(t);
    const sights = await Promise.all(
      logins.map(({ owner, login }) => owner.submit(login, { email: EMAIL, password: PASSWORD })),
    );
    for (const { status, path } of sights) expect([status, path.split('?')[0]]).toEqual([200, '/consent']);
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([400, 503]));
  });

  it('T075: stores nothing for rejected sign-ins', async () => {
    const t = await setScene();
    const [first, ...rest] = await flood(t);
    await first;
    const before = t.snapshot();
    const busy = (await Promise.all(rest)).filter(({ status }) => status === 503);
    expect(busy.length).toBeGreaterThan(0);
    for (const { headers } of busy) {
      expect([headers.get('retry-after'), headers.getSetCookie()]).toEqual(['2', []]);
    }
    expect(t.snapshot()).toBe(before);
    expect((await t.visitor.signIn(requestOf())).path).toMatch(/^\/consent/);
  });
});
