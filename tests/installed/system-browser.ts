/** The system's browser of installed programs: `xdg-open` that signs a user in, allows everything, and prints where it ended. */
import { once } from 'node:events';
import { chmod } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Account, createUser, followShortAddress } from '../support/user.ts';
import type { InstalledProject } from './project.ts';
import { write } from './snippets.ts';

export interface SystemBrowser extends AsyncDisposable {
  /** For the programs that open it. */
  readonly environment: Readonly<Record<string, string>>;
}

/** @param folder for the program `xdg-open` */
export async function startSystemBrowser(
  folder: string,
  account: Account,
  { environment }: InstalledProject,
): Promise<SystemBrowser> {
  const user = createUser(account);
  const server = createServer(async (request, response) => {
    try {
      const callback = await user.authorize(await followShortAddress(await text(request)));
      if (callback.hostname === '127.0.0.1') await fetch(callback);
      response.end(callback.href);
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const program = `#!/usr/bin/env node
    fetch('http://127.0.0.1:${port}', { method: 'POST', body: process.argv[2] }).then(async (response) => {
      process.stdout.write(await response.text());
    });`;
  await write(folder, 'bin/xdg-open', program);
  await chmod(join(folder, 'bin/xdg-open'), 0o755);
  return {
    environment: { PATH: [join(folder, 'bin'), environment['PATH']].join(delimiter) },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
