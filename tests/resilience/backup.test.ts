/** A backup that was made while the server was in use is restored: who has to do what again, and who notices nothing. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { runHere } from '../../packages/cli/test/support/in-process.ts';
import { startServer } from '../support/postgres.ts';
import { authorize, redeem, refresh, signIn } from './browser.ts';
import type { AtEnd } from './servers.ts';
import { send, startProcess } from './servers.ts';
import { openSessions, refreshAll } from './sessions.ts';
import { TIMEOUT } from './sizes.ts';
import { credentialsOf, ISSUER } from './world.ts';

/** A database, and how an operator backs it up. */
interface Source {
  readonly location: string;
  /** @returns restores the backup: the location of another database */
  backUp(): Promise<() => Promise<string>>;
}

const sources: readonly { readonly name: string; start(atEnd: AtEnd): Promise<Source> }[] = [
  {
    name: 'SQLite',
    async start(atEnd) {
      const folder = await mkdtemp(join(tmpdir(), 'portcullis-backup-'));
      atEnd(() => rm(folder, { recursive: true }));
      const location = join(folder, 'portcullis.db');
      return {
        location,
        async backUp() {
          const copy = join(folder, 'copy.db');
          const connection = new DatabaseSync(location);
          await backup(connection, copy);
          connection.close();
          return async () => copy;
        },
      };
    },
  },
  {
    name: 'PostgreSQL',
    async start(atEnd) {
      const server = await startServer({});
      atEnd(server.stop);
      return {
        location: server.url,
        async backUp() {
          const restore = await server.backUp();
          return async () => (await restore()).url;
        },
      };
    },
  },
];

const revoke = (server: Parameters<typeof send>[0], token: string) =>
  send(server, '/revoke', { form: { token, ...credentialsOf('web') } });

/** The time, as precise as that of the last use of a connection. */
const second = () => `${new Date().toISOString().slice(0, 19)}Z`;

describe.each(sources)('a backup of $name', ({ start }) => {
  it(
    'that was made under load continues every session of its time, ends those that began later, and in the end what was revoked',
    async ({ onTestFinished: atEnd }) => {
      const source = await start(atEnd);
      const server = await startProcess(source.location, atEnd);
      const [revokedBefore = '', revokedAfter = '', ...opened] = await openSessions(server);
      const openedAt = second();
      expect((await revoke(server, revokedBefore)).status).toBe(200);

      const [restore, meanwhile] = await Promise.all([source.backUp(), refreshAll(server, opened)]);
      const newest = await refreshAll(server, meanwhile);
      const later = await redeem(server, await authorize(server, await signIn(server)));
      expect((await revoke(server, revokedAfter)).status).toBe(200);
      await server.kill();

      const copy = await restore();
      const restored = await startProcess(copy, atEnd);
      await expect.poll(second).not.toBe(openedAt);
      const startedAt = second();
      const current = await refreshAll(restored, await refreshAll(restored, newest));
      for (const token of [revokedBefore, String(later.body['refresh_token'])]) {
        const answer = await refresh(restored, token);
        expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_grant']);
      }
      // What was ended after the backup lives again, and is not used: docs/guides/back-up.md ends it, and nothing else.
      const environment = { PORTCULLIS_DATABASE: copy, PORTCULLIS_PUBLIC_URL: ISSUER };
      const end = ['connections', 'end', '--since', startedAt];
      const ended = await runHere(end, { environment, folder: tmpdir() });
      expect(ended).toMatchObject({ code: 0, errors: '' });
      await refreshAll(restored, current);
      const answer = await refresh(restored, revokedAfter);
      expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_grant']);
      await restored.stop();
    },
    TIMEOUT,
  );
});
