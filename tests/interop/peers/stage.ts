/** What the tests of peers share: their packages, servers that close after a test, and our client with its user. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { getRequestListener } from '@hono/node-server';
import type { Client } from '@portcullis/client';
import { createNodeClient, type NodeClientOptions } from '@portcullis/client/node';
import { afterEach } from 'vitest';
import { createComputer } from '../../../packages/cli/test/support/command.ts';
import { installPackages } from '../../support/install.ts';
import { type VisitOptions, visit } from '../../support/visit.ts';

const installation = await installPackages(fileURLToPath(new URL('.', import.meta.url)));

/** Why the packages are missing, if they are. */
export const missing: string | undefined = installation.missing;
if (missing !== undefined) console.warn(`skipped: ${missing}`);

/** Path of a file of an installed package. */
export function pathInPeers(file: string): string {
  return join(installation.modules, file);
}

/** Imports a file of an installed package, which has no types here. */
export async function importPeer<T>(file: string): Promise<T> {
  return (await import(pathInPeers(file))) as T;
}

/** Milliseconds of most access tokens. */
export const HOUR = 3_600_000;

const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** Closes something after the test. */
export function closeAfterTest(close: () => unknown): void {
  closing.push(close);
}

/** A server on a free port. Its handler is made for its origin. */
export async function listen(
  create: (origin: string) => (request: Request) => Promise<Response>,
): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeAfterTest(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.on('request', getRequestListener(create(origin)) as RequestListener);
  return origin;
}

/** Our client with a user, whose access tokens end when the test wants. */
export interface Program {
  readonly client: Client;
  /** Advances the clock of the client. */
  advance(milliseconds: number): void;
  /** The grant types of its successful requests for tokens. */
  grants(): readonly string[];
  /** The newest access token. */
  accessToken(): string;
  /** Sends the newest refresh token as the client does. Returns the error code, `undefined` if there is none. */
  refresh(): Promise<string | undefined>;
}

interface TokenRequest {
  readonly grant: string;
  readonly request: Request;
  readonly tokens: { readonly access_token: string; readonly refresh_token?: string };
}

/** @param authorize opens the authorization URL as the user, and returns the redirect to the client */
export function createProgram(
  serverUrl: string,
  authorize: (url: string) => Promise<string>,
  options: Partial<NodeClientOptions> = {},
): Program {
  let offset = 0;
  const sent: TokenRequest[] = [];
  const client = createNodeClient({
    serverUrl,
    clock: () => Date.now() + offset,
    browser: {
      async open(url) {
        const arrived = await authorize(url);
        if (!URL.canParse(arrived)) throw new Error(`no redirect: ${arrived.replace(/<[^>]+>/g, ' ')}`);
        void fetch(arrived).catch(() => undefined);
      },
    },
    async fetch(input, init) {
      const request = new Request(input, init);
      const copy = request.clone();
      const grant = new URLSearchParams(await request.clone().text()).get('grant_type');
      const response = await fetch(request);
      if (grant !== null && response.ok) {
        const tokens = (await response.clone().json()) as TokenRequest['tokens'];
        sent.push({ grant, request: copy, tokens });
      }
      return response;
    },
    ...options,
  });
  return {
    client,
    advance(milliseconds) {
      offset += milliseconds;
    },
    grants: () => sent.map(({ grant }) => grant),
    accessToken: () => sent.at(-1)?.tokens.access_token ?? '',
    async refresh() {
      const { request, tokens } = sent.at(-1) ?? {};
      if (request === undefined) throw new Error('no tokens were requested');
      const body = new URLSearchParams(await request.clone().text());
      body.set('grant_type', 'refresh_token');
      body.set('refresh_token', tokens?.refresh_token ?? '');
      const response = await fetch(request.url, { method: 'POST', headers: request.headers, body });
      return ((await response.json()) as { readonly error?: string }).error;
    },
  };
}

/** Runs `portcullis login --device`, and answers the pages that it names. Returns its JSON. */
export async function loginByDevice(serverUrl: string, options: VisitOptions): Promise<unknown> {
  const computer = createComputer();
  closeAfterTest(() => computer.close());
  const child = computer.start(['login', serverUrl, '--device', '--json']);
  const output = text(child.stdout as Readable);
  let errors = '';
  for await (const chunk of child.stderr as Readable) {
    const shown = /^Or open (\S+)$/m;
    const before = shown.test(errors);
    errors += chunk;
    const address = shown.exec(errors)?.[1];
    if (!before && address !== undefined) await visit(address, options);
  }
  const printed = await output;
  if (printed === '') throw new Error(errors);
  return JSON.parse(printed);
}
