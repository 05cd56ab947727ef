/** Three processes present the same refresh token at about the same time, many thousand times: it is rotated once, and all get one successor. */
import { describe, expect, it } from 'vitest';
import { kinds } from './places.ts';
import { startProcess } from './servers.ts';
import { openSessions } from './sessions.ts';
import { sizes, TIMEOUT } from './sizes.ts';

const PROCESSES = 3;
/** Fewer than the connections that a user may have with a client. */
const SESSIONS = 100;

describe.each(kinds)('$name', (kind) => {
  it(
    `T138: ${sizes.contests} refresh tokens, each presented by ${PROCESSES} processes at once, have one successor each`,
    async ({ onTestFinished: atEnd }) => {
      const place = await kind.make(atEnd);
      const servers = await Promise.all(
        Array.from({ length: PROCESSES }, () => startProcess(place.location, atEnd)),
      );
      const [first, ...others] = servers;
      if (first === undefined) throw new Error('no server');
      let tokens: readonly string[] = await openSessions(first, SESSIONS);
      const before = performance.now();
      let rounds = 0;
      for (; rounds < sizes.contests; rounds += SESSIONS) {
        const [successors = [], ...same] = await Promise.all(servers.map((server) => server.present(tokens)));
        expect(
          successors.filter((successor) => successor.includes(' ') || tokens.includes(successor)),
        ).toEqual([]);
        expect(same).toEqual(others.map(() => successors));
        tokens = successors;
      }
      const seconds = Math.round((performance.now() - before) / 1000);
      for (const server of servers) expect(await server.stop()).toBe(0);
      expect(await place.ask('SELECT id FROM grants WHERE revoked_at IS NOT NULL')).toEqual([]);
      // One more: that of the sign-in, which is never refreshed.
      const grants = await place.ask('SELECT refresh_token_generation AS generation FROM grants');
      const rotations = grants.map(({ generation }) => Number(generation));
      expect(rotations).toHaveLength(SESSIONS + 1);
      expect(rotations.filter((one) => one === rounds / SESSIONS)).toHaveLength(SESSIONS);
      console.info(`${kind.name}: ${rounds} rounds, ${rounds * PROCESSES} requests in ${seconds} s`);
    },
    TIMEOUT,
  );
});
