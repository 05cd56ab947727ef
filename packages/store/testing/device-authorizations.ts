/** The contract of device authorizations: one user code each, decided once, polled no faster than allowed. */
import type { DeviceAuthorizationRecord } from '@portcullis/authorization-server/store';
import { describe, expect, it } from 'vitest';
import { NOW, newHash, RACERS, type StoreOfTest } from './samples.ts';

type NewDeviceAuthorization = Omit<DeviceAuthorizationRecord, 'outcome' | 'codeHash'>;

export function newDeviceAuthorization(
  changes: Partial<NewDeviceAuthorization> = {},
): NewDeviceAuthorization {
  return {
    hash: newHash(),
    userCodeHash: newHash(),
    clientId: 'television',
    scopes: ['notes:read'],
    resource: 'https://mcp.example/mcp',
    codeChallenge: newHash(),
    requestedFrom: '192.0.2.7',
    createdAt: NOW,
    expiresAt: NOW + 600,
    pollInterval: 5,
    ...changes,
  };
}

export function describeDeviceAuthorizations(store: StoreOfTest): void {
  describe('device authorizations', () => {
    it('are found by both codes, by the user code only while they wait and are valid', async () => {
      const device = newDeviceAuthorization();
      expect(await store().saveDeviceAuthorization(device)).toBe(true);
      const waiting = { ...device, outcome: null, codeHash: null };
      expect(await store().findDeviceAuthorization(device.hash)).toEqual(waiting);
      const find = (now: number) => store().findDeviceAuthorizationByUserCode(device.userCodeHash, now);
      expect(await find(NOW)).toEqual(waiting);
      expect(await find(device.expiresAt)).toBeNull();
      expect(await store().decideDeviceAuthorization(device.hash, null, NOW)).toBe(true);
      expect(await find(NOW)).toBeNull();
      expect((await store().findDeviceAuthorization(device.hash))?.outcome).toBe('denied');
    });

    it('refuses a user code that is taken', async () => {
      const [first, second] = [newDeviceAuthorization(), newDeviceAuthorization()];
      await store().saveDeviceAuthorization(first);
      const { userCodeHash } = first;
      expect(await store().saveDeviceAuthorization({ ...second, userCodeHash })).toBe(false);
      expect(await store().findDeviceAuthorization(second.hash)).toBeNull();
      expect(await store().saveDeviceAuthorization(second)).toBe(true);
    });

    it('are decided once, however many decide at once, and not after they have expired', async () => {
      const [device, late] = [newDeviceAuthorization(), newDeviceAuthorization()];
      for (const one of [device, late]) await store().saveDeviceAuthorization(one);
      const decide = (code: string) => store().decideDeviceAuthorization(device.hash, code, NOW);
      const outcomes = await Promise.all(Array.from({ length: RACERS }, (_, at) => decide(`code ${at}`)));
      expect(outcomes.filter((isFirst) => isFirst)).toHaveLength(1);
      const decided = await store().findDeviceAuthorization(device.hash);
      expect(decided).toMatchObject({ outcome: 'approved', codeHash: `code ${outcomes.indexOf(true)}` });
      expect(await store().decideDeviceAuthorization(late.hash, 'code', late.expiresAt)).toBe(false);
      expect((await store().findDeviceAuthorization(late.hash))?.outcome).toBeNull();
    });

    it('are polled at their interval, which each early poll makes longer', async () => {
      const { hash, ...device } = newDeviceAuthorization();
      await store().saveDeviceAuthorization({ ...device, hash });
      const poll = (now: number) => store().recordDevicePoll(hash, now, 5);
      expect(await poll(NOW)).toBe(true);
      expect(await poll(NOW + 4)).toBe(false);
      expect(await poll(NOW + 13)).toBe(false);
      expect(await poll(NOW + 13 + 15)).toBe(true);
    });
  });
}
