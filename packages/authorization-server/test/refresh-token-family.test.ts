/** Rules of a refresh token family: live, retried or reused (reuse detection). */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createRefreshTokens,
  type FamilyRotations,
  refreshTokenState,
  rotateFamily,
} from '../src/token/refresh-token-family.ts';

const GRACE = 30;

describe('the state of a refresh token, until its successor is used', () => {
  const family = { generation: 12, rotations: '[[11,100]]' };
  it.each([
    { description: 'the live token, at any time', number: 12, now: 9999, expect: 'live' },
    { description: 'a token that the store has lost', number: 15, now: 100, expect: 'ahead' },
    { description: 'its predecessor, at once', number: 11, now: 100, expect: 'retried' },
    { description: 'its predecessor, after an hour', number: 11, now: 3700, expect: 'retried' },
    { description: 'its predecessor, by a clock that went back', number: 11, now: 1, expect: 'retried' },
    { description: 'the one before, in the same second', number: 10, now: 100, expect: 'reused' },
    { description: 'the first token', number: 0, now: 100, expect: 'reused' },
  ])('the state of $description is $expect', ({ number, now, expect: active }) => {
    expect(refreshTokenState(number, family, now, null)).toBe(active);
  });
});

describe('the state of a refresh token, without retries', () => {
  it.each([
    { description: 'the live token', number: 12, expect: 'live' },
    { description: 'its predecessor, in the same second', number: 11, expect: 'reused' },
  ])('the state of $description is $expect', ({ number, expect: active }) => {
    expect(refreshTokenState(number, { generation: 12, rotations: '[[11,100]]' }, 100, 0)).toBe(active);
  });
});

describe('the state of a refresh token, within a grace period', () => {
  const family = { generation: 12, rotations: '[[5,100],[9,110],[10,125]]' };
  it.each([
    { description: 'the live token, at any time', number: 12, now: 9999, expect: 'live' },
    {
      description: 'its predecessor, in the last second of its grace period',
      number: 11,
      now: 155,
      expect: 'retried',
    },
    { description: 'its predecessor, one second later', number: 11, now: 156, expect: 'reused' },
    { description: 'an older token, within its own grace period', number: 9, now: 140, expect: 'retried' },
    { description: 'an older token, one second later', number: 9, now: 141, expect: 'reused' },
    { description: 'one of several rotated in one second', number: 7, now: 130, expect: 'retried' },
    { description: 'a forgotten token', number: 4, now: 100, expect: 'reused' },
    {
      description: 'a token rotated in the future: a clock went back',
      number: 11,
      now: 1,
      expect: 'retried',
    },
  ])('the state of $description is $expect', ({ number, now, expect: active }) => {
    expect(refreshTokenState(number, family, now, GRACE)).toBe(active);
  });
});

describe('the text of a refresh token', () => {
  const refreshTokens = (masterKey: number) =>
    createRefreshTokens({
      store: {},
      events: () => {},
      options: {
        masterKey: Buffer.alloc(32, masterKey),
        previousMasterKeys: [],
        lifetimes: { refreshIdle: 60, refreshGrace: null },
        acceptNewerRefreshTokens: false,
      },
    } as never);
  const family = { generation: 0, seed: 'seed', rotations: '', hash: '', issuedAt: 0, expiresAt: 60 };
  const grant = { id: 'grant_one', expiresAt: 60 };
  const successor = (masterKey: number, grantId: string, number: number, seed: string) =>
    refreshTokens(masterKey).successorOf({
      text: '',
      number,
      grant: { ...grant, id: grantId },
      family: { ...family, generation: number, seed },
    } as never);
  const own = successor(1, 'grant_one', 3, 'seed');

  it.each([
    [
      'the seed of its family, so that a leaked master key alone computes none',
      successor(1, 'grant_one', 3, 'other seed'),
    ],
    ['the master key, so that a copy of the store alone computes none', successor(2, 'grant_one', 3, 'seed')],
    ['its grant', successor(1, 'grant_two', 3, 'seed')],
    ['its number', successor(1, 'grant_one', 4, 'seed')],
  ])('depends on %s', (_what, other) => {
    const proof = (text: string) => text.split('~')[2];
    expect(proof(own)).toMatch(/^[\w-]{43}$/);
    expect(proof(other)).not.toBe(proof(own));
    expect(successor(1, 'grant_one', 3, 'seed')).toBe(own);
  });
});

describe('the record of rotations', () => {
  it('the compact record says the same as a list of all rotations', () => {
    const steps = fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 60 });
    fc.assert(
      fc.property(
        steps,
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 0, max: 80 }),
        (waits, grace, later) => {
          const rotatedAt: number[] = [];
          let family = { generation: 0, rotations: '' };
          let now = 1_800_000_000;
          for (const wait of waits) {
            now += wait;
            family = rotateFamily(family.generation, family, now, grace);
            rotatedAt.push(now);
          }
          now += later;
          for (const [number, at] of rotatedAt.entries()) {
            expect(refreshTokenState(number, family, now, grace)).toBe(
              now <= at + grace ? 'retried' : 'reused',
            );
          }
          expect(refreshTokenState(rotatedAt.length, family, now, grace)).toBe('live');
        },
      ),
    );
  });

  it('the record of rotations stays short, however often a token is rotated', () => {
    let family = { generation: 0, rotations: '' };
    for (let step = 0; step < 20_000; step += 1) {
      family = rotateFamily(family.generation, family, 1_800_000_000 + Math.floor(step / 60), GRACE);
    }
    expect(JSON.parse(family.rotations)).toHaveLength(GRACE + 1);
  });

  it('the record of rotations is the latest one only, where no clock decides', () => {
    const families: FamilyRotations[] = [];
    for (const now of [100, 101, 101, 140]) {
      families.push(rotateFamily(families.length, families.at(-1) ?? { rotations: '' }, now, null));
    }
    expect(families.map(({ rotations }) => rotations)).toEqual([
      '[[0,100]]',
      '[[1,101]]',
      '[[1,101]]',
      '[[3,140]]',
    ]);
  });
});
