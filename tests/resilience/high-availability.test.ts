/** The cluster of docs/guides/high-availability.md: a switchover and the loss of the primary, without the loss of a commit. */
import { describe, expect, it } from 'vitest';
import { findMissing, startCluster } from './cluster.ts';

const missing = await findMissing();
/** A cluster takes minutes to start on a busy computer. */
const isAsked = process.env['RESILIENCE'] !== undefined;

describe.skipIf(missing !== null || !isAsked)(
  'a cluster of three (by `npm run resilience`, as root, where its programs are installed)',
  () => {
    it('retains every commit in a switchover and in the loss of its primary, and is whole again', async ({
      onTestFinished,
    }) => {
      const endings: (() => Promise<void>)[] = [];
      onTestFinished(async () => {
        for (const end of endings.toReversed()) await end();
      });
      const cluster = await startCluster((end) => void endings.push(end));
      await cluster.ask('CREATE TABLE commits (number integer)');
      const commit = (number: number) =>
        cluster.ask(`INSERT INTO commits VALUES (${number}) RETURNING number`);
      const untilCommitted = (number: number) =>
        expect
          .poll(() => commit(number).catch(() => []), { timeout: 240_000, interval: 500 })
          .toEqual([{ number }]);
      await untilCommitted(1);
      const first = await cluster.leader();
      await cluster.switchover();
      await cluster.untilWhole();
      await untilCommitted(2);
      const second = await cluster.leader();
      expect(second).not.toBe(first);
      await cluster.kill(second);
      await untilCommitted(3);
      await cluster.start(second);
      await cluster.untilWhole();
      expect(await cluster.leader()).not.toBe(second);
      const numbers = await cluster.ask('SELECT DISTINCT number FROM commits ORDER BY number');
      expect(numbers).toEqual([{ number: 1 }, { number: 2 }, { number: 3 }]);
    }, 1_200_000);
  },
);
