/** `mcp-remote`, started as a stdio-only application does. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { reservePort } from '../support/ports.ts';
import { type Session, sessionOf } from './sdks.ts';

const proxy = join(createRequire(import.meta.url).resolve('mcp-remote/package.json'), '../dist/proxy.js');

export interface Local extends AsyncDisposable {
  /** Resolves when a user has signed in, or when no sign-in is needed. */
  readonly session: Promise<Session>;
  /** The next authorization URL that mcp-remote shows, and opens in a browser. */
  authorizationUrl(): Promise<string>;
  /** Follows a redirect back to it as a browser would, as soon as it listens. */
  callBack(url: URL): Promise<void>;
  /** Its output so far. */
  output(): string;
}

export interface LocalOptions {
  readonly flags?: readonly string[];
  /** Where it stores its tokens. Default: a folder for this connection only. */
  readonly folder?: string;
}

/** Of each folder, whose client is registered with it. mcp-remote itself chooses one that systems may have assigned. */
const ports = new Map<string, number>();

/** It opens a browser command that does nothing. */
export async function connectByProxy(resource: string, options: LocalOptions = {}): Promise<Local> {
  const own = options.folder === undefined ? await mkdtemp(join(tmpdir(), 'portcullis-mcp-remote-')) : null;
  const folder = options.folder ?? own ?? '';
  const port = ports.get(folder) ?? (await reservePort());
  ports.set(folder, port);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [proxy, resource, String(port), ...(options.flags ?? [])],
    env: { MCP_REMOTE_CONFIG_DIR: folder, BROWSER: 'true' },
    stderr: 'pipe',
  });
  const shown: string[] = [];
  const waiting: ((url: string) => void)[] = [];
  let output = '';
  let read = 0;
  transport.stderr?.on('data', (chunk: Buffer) => {
    output += String(chunk);
    for (const [line, url = ''] of output.slice(read).matchAll(/visiting:\s+(http\S+)\n/g)) {
      read = output.indexOf(line, read) + line.length;
      const next = waiting.shift();
      if (next === undefined) shown.push(url);
      else next(url);
    }
  });
  const client = new Client({ name: 'local', version: '1.0.0' });
  const session = client.connect(transport).then(() => sessionOf(client));
  // Callers that wait for the session see the error; there may be none.
  session.catch(() => {});
  return {
    session,
    authorizationUrl: async () => shown.shift() ?? new Promise((resolve) => waiting.push(resolve)),
    callBack: untilItListens,
    output: () => output,
    async [Symbol.asyncDispose]() {
      await client.close();
      if (own !== null) await rm(own, { recursive: true, force: true });
    },
  };
}

/** It listens only a moment after it has shown the authorization URL, which is soon enough for any user. */
async function untilItListens(url: URL): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok === true) return;
    await sleep(100);
  }
  throw new Error(`mcp-remote does not listen at ${url.origin}`);
}
