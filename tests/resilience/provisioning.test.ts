/** A server that is killed amid the synchronization of a directory has in the end every user and every membership, and refreshes go on. */
import { describe, expect, it } from 'vitest';
import { kinds } from './places.ts';
import { runSynchronization } from './provisioning/run.ts';
import { sizes, TIMEOUT } from './sizes.ts';

describe.each(kinds)('$name', (kind) => {
  it(
    `keeps each user and each membership of a synchronization of ${sizes.directory.users} users when its server is killed`,
    async ({ onTestFinished: atEnd }) => {
      const plan = { ...sizes.directory, concurrency: 8, sessions: 20, rate: 20, alone: 1, isLimited: false };
      const report = await runSynchronization(await kind.make(atEnd), plan, atEnd);
      expect(report.kills).toBe(2 * sizes.directory.kills);
      const { whole, changes } = report.refreshes;
      expect(Math.min(whole.count, changes.count)).toBeGreaterThan(0);
    },
    TIMEOUT,
  );
});
