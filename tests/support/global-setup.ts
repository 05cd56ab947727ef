/** Shared set-up of a test run: one PostgreSQL, and a temporary folder. */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { chmod, mkdtemp, statfs, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SHARED_POSTGRES, startServer } from './postgres.ts';

export async function setup(): Promise<() => Promise<void>> {
  const leave = await keepFilesInMemory();
  const end = await lendPostgres();
  return async () => {
    await end();
    leave();
  };
}

/** Where Linux keeps files in memory. */
const MEMORY = '/dev/shm';
/** Bytes that must be free there; a run needs a few hundred million. */
const BYTES_NEEDED = 2 * 2 ** 30;

/**
 * Thousands of tests create a database each, and every commit would wait for the disk, longer than for all their other work.
 * No test cuts the power, so none can tell a disk from memory. Without enough memory for files, the usual temporary folder
 * is used.
 */
async function keepFilesInMemory(): Promise<() => void> {
  const { bavail, bsize } = await statfs(MEMORY).catch(() => ({ bavail: 0, bsize: 0 }));
  const folder =
    bavail * bsize < BYTES_NEEDED ? null : await mkdtemp(join(MEMORY, 'portcullis-')).catch(() => null);
  if (folder === null) return () => {};
  const leave = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', leave);
  // PostgreSQL may run as another user, and must be able to reach its own folder.
  await chmod(folder, 0o711);
  if (await canExecute(folder)) process.env['TMPDIR'] = folder;
  return leave;
}

/** Whether programs in that folder can be executed, as tests need for fake browsers. Containers often forbid it. */
async function canExecute(folder: string): Promise<boolean> {
  const program = join(folder, 'program');
  await writeFile(program, '#!/bin/sh\n', { mode: 0o700 });
  return promisify(execFile)(program).then(
    () => true,
    () => false,
  );
}

/** Started when the first test needs it. */
async function lendPostgres(): Promise<() => Promise<void>> {
  let postgres: ReturnType<typeof startServer> | undefined;
  const lender = createServer((_request, response) => {
    postgres ??= startServer();
    postgres.then(
      (server) => response.end(server.url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => lender.listen(0, '127.0.0.1', resolve));
  const address = lender.address();
  if (address === null || typeof address === 'string') throw new Error('the lender has no address');
  process.env[SHARED_POSTGRES] = `http://127.0.0.1:${address.port}`;

  return async () => {
    lender.close();
    lender.closeAllConnections();
    await postgres?.then(
      (server) => server.stop(),
      () => {},
    );
  };
}
