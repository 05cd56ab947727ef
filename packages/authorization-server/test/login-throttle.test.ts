/** Brute-force protection of sign-in within one process: lockout by account and network, rate limit by network. */
import { describe, expect, it } from 'vitest';
import { createLockout } from '../src/rate-limit/limiter.ts';
import { createLoginThrottle } from '../src/rate-limit/login-throttle.ts';
import { defaultRateLimits } from '../src/rate-limit/policies.ts';

describe('the lockout', () => {
  it.each([
    [0, 0], [2, 0], [3, 15], [4, 30], [5, 60], [8, 480], [9, 900], [10_000, 900],
  ])('the lockout after %i failures lasts %i seconds', (failures, seconds) => {
    const lockout = createLockout({ free: 3, firstPause: 15, maxPause: 900, forgetAfter: 3600 }, () => 0);
    for (let n = 0; n < failures; n++) lockout.take('ada');
    expect(lockout.waitOf('ada')).toBe(seconds);
  }); // biome-ignore format: a table
});

describe('the login throttle', () => {
  function start() {
    const clock = { now: 1_800_000_000 };
    const store = { chargeRateLimit: () => Promise.reject(new Error('not asked')) } as never;
    const throttle = createLoginThrottle(
      { store, options: { rateLimits: null }, clock: () => clock.now },
      'password',
    );
    const attempt = (account: string, address: string, isRight: boolean) =>
      throttle({ account, connection: { address } }, async () => isRight);
    const fail = async (account: string, address: string) => (await attempt(account, address, false)).kind;
    const succeed = async (account: string, address: string) => (await attempt(account, address, true)).kind;
    return { clock, attempt, fail, succeed };
  }

  const countVerified = (kinds: readonly string[]) => kinds.filter((kind) => kind === 'verified').length;

  it('T075: locks an account out from one network after five failures, twice as long each time', async () => {
    const { clock, fail, attempt } = start();
    for (let n = 0; n < 5; n++) expect(await fail('ada', '192.0.2.1')).toBe('verified');
    expect(await attempt('ada', '192.0.2.1', true)).toEqual({ kind: 'throttled', retryAfter: 15 });
    clock.now += 15;
    expect(await fail('ada', '192.0.2.1')).toBe('verified');
    expect(await attempt('ada', '192.0.2.1', true)).toEqual({ kind: 'throttled', retryAfter: 30 });
    clock.now += 3601;
    expect(await fail('ada', '192.0.2.1')).toBe('verified');
  });

  it('T075: counts a hundred guesses at once like a hundred in a row', async () => {
    const { fail } = start();
    const kinds = await Promise.all(Array.from({ length: 100 }, () => fail('ada', '192.0.2.1')));
    expect(countVerified(kinds)).toBe(5);
  });

  it('T075: throttles guesses at one account from many addresses', async () => {
    const { fail } = start();
    const kinds = await Promise.all(Array.from({ length: 100 }, (_, n) => fail('ada', `192.0.2.${n}`)));
    expect(countVerified(kinds)).toBe(30);
    expect(await fail('bob', '192.0.2.99')).toBe('verified');
  });

  it('T075: throttles guesses at many accounts from one site, however many networks it has', async () => {
    for (const address of [() => '192.0.2.1', (n: number) => `2001:db8:0:${(n % 60).toString(16)}::${n}`]) {
      const { fail } = start();
      const kinds = await Promise.all(Array.from({ length: 300 }, (_, n) => fail(`user${n}`, address(n))));
      expect(countVerified(kinds)).toBe(100);
      expect(await fail('ada', '2001:db8:1::1')).toBe('verified');
    }
  });

  it('a user who signed in before is not affected by the failures of other networks of the site', async () => {
    const { fail, succeed } = start();
    expect(await succeed('ada', '2001:db8:0:1::1')).toBe('verified');
    const kinds = await Promise.all(
      Array.from({ length: 160 }, (_, n) => fail(`user${n}`, `2001:db8:0:${(n % 60).toString(16)}::5`)),
    );
    expect(countVerified(kinds)).toBe(100);
    expect(await succeed('bob', '2001:db8:0:2::1')).toBe('throttled');
    expect(await succeed('ada', '2001:db8:0:1::2')).toBe('verified');
  });

  it('a whole university can log in behind one address although one user keeps mistyping', async () => {
    const { clock, attempt, fail, succeed } = start();
    // A success charges nothing.
    for (let n = 0; n < 1000; n++) expect(await succeed(`student${n}`, '192.0.2.1')).toBe('verified');
    for (let n = 0; n < 100; n++) expect(await fail(`unknown${n}`, '192.0.2.1')).toBe('verified');
    expect(await attempt('late', '192.0.2.1', true)).toEqual({ kind: 'throttled', retryAfter: 2 });
    expect(await succeed('student7', '192.0.2.1')).toBe('verified');
    for (let n = 0; n < 100; n++) {
      clock.now += 4;
      expect(await fail(`typist${n}`, '192.0.2.1')).toBe('verified');
      expect(await succeed(`newcomer${n}`, '192.0.2.1')).toBe('verified');
    }
  });

  it('does not lock the owner of an account out while others guess at it', async () => {
    const { fail, succeed } = start();
    await succeed('ada', '192.0.2.1');
    for (let n = 0; n < 100; n++) await fail('ada', `198.51.100.${n}`);
    expect(await fail('ada', '203.0.113.1')).toBe('throttled');
    expect(await fail('ada', '192.0.2.1')).toBe('verified');
  });

  it('forgets the failures of an account and network after a success', async () => {
    const { fail, succeed } = start();
    for (let n = 0; n < 4; n++) await fail('ada', '192.0.2.1');
    await succeed('ada', '192.0.2.1');
    for (let n = 0; n < 5; n++) expect(await fail('ada', '192.0.2.1')).toBe('verified');
    expect(await fail('ada', '192.0.2.1')).toBe('throttled');
  });

  it('T075: keeps its counters while throttled guesses name thousands of other accounts', async () => {
    const { fail, succeed } = start();
    await succeed('bob', '203.0.113.9');
    for (let n = 0; n < 35; n++) await fail('ada', `192.0.2.${n}`);
    for (let n = 0; n < 30; n++) await fail('bob', `192.0.2.${n}`);
    for (let n = 0; n < 50_000; n++) await fail(`missing${n}`, '198.51.100.7');
    expect([await fail('ada', '192.0.2.99'), await fail('bob', '192.0.2.99')]).toEqual([
      'throttled',
      'throttled',
    ]);
    expect([await fail('bob', '203.0.113.9'), await fail('eve', '192.0.2.99')]).toEqual([
      'verified',
      'verified',
    ]);
  });

  it('keeps a bounded number of counters when thousands of accounts are tried', async () => {
    const { clock, fail } = start();
    for (let n = 0; n < 30_000; n++) {
      clock.now += 1;
      await fail(`user${n}`, `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`);
    }
    expect(await fail('user0', '10.0.0.0')).toBe('verified');
  });
});

describe('the login throttle over all processes', () => {
  const start = (charge: () => Promise<number>) => {
    let charges = 0;
    const chargeRateLimit = () => {
      charges += 1;
      return charge();
    };
    const throttle = createLoginThrottle(
      {
        store: { chargeRateLimit } as never,
        options: { rateLimits: defaultRateLimits },
        clock: () => 1_800_000_000,
      },
      'password',
    );
    const attempt = (isRight: boolean) =>
      throttle({ account: 'ada', connection: { address: '192.0.2.1' } }, async () => isRight);
    return { attempt, charges: () => charges };
  };

  it('T075: charges every sign-in attempt at the store, so that a restart forgets none', async () => {
    const { attempt, charges } = start(async () => 0);
    for (let n = 1; n <= 3; n++) {
      expect(await attempt(true)).toEqual({ kind: 'verified', result: true });
      expect(charges()).toBe(n);
    }
  });

  it('T075: fails an attempt that the store cannot charge, verifies nothing, and does not count it', async () => {
    let isAway = true;
    const { attempt } = start(async () => {
      if (isAway) throw new Error('away');
      return 0;
    });
    for (let n = 0; n < 10; n++) await expect(attempt(true)).rejects.toThrow('away');
    isAway = false;
    expect(await attempt(true)).toEqual({ kind: 'verified', result: true });
  });
});
