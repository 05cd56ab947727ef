/** `portcullis status` and `portcullis open`: the servers that run on this computer, and the pages of one in the browser. */
import type { Command } from 'commander';
import { openBrowser } from '../client/client-options.ts';
import { CommandFailure, exitCodes } from '../client/exit-codes.ts';
import { isObject } from '../json.ts';
import type { ProcessContext } from '../process-context.ts';
import { findRunningServers, type RunningServer } from '../server/run-file.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';

/** Milliseconds for a server to report its health. */
const TIMEOUT = 3_000;

export function defineStatus(program: Command, { environment, write }: ProcessContext): void {
  program
    .command('status')
    .summary('show the servers that run on this computer')
    .description(
      'Shows the servers that you run on this computer, and whether each is ready. Exit code 4 if there is none, or one is not.',
    )
    .option('--json', 'as JSON')
    .action(async ({ json }: { readonly json?: true }) => {
      const servers = await findRunningServers(environment);
      const states = await Promise.all(
        servers.map(async (server) => ({ ...server, ...(await healthOf(server)) })),
      );
      if (json) write(`${cleanJson(states)}\n`);
      else write(states.length === 0 ? 'No server is running.\n' : states.map(describe).join('\n'));
      if (states.length === 0 || states.some(({ isReady }) => !isReady))
        throw new CommandFailure(exitCodes.temporary);
    });
}

export function defineOpen(program: Command, { environment, write }: ProcessContext): void {
  program
    .command('open')
    .summary('open the pages of a running server in the browser')
    .description('Opens the page where users see which apps have access to their account.')
    .argument('[url]', 'URL of the server, if several run on this computer')
    .action(async (url: string | undefined) => {
      const servers = await findRunningServers(environment);
      const urls = [...new Set(servers.map((server) => server.url))].filter(
        (one) => url === undefined || one === url,
      );
      const [found, ...others] = urls;
      if (found === undefined)
        throw new Error(url === undefined ? 'No server is running' : `No server runs at ${url}`);
      if (others.length > 0) throw new Error(`Several servers are running, name one: ${urls.join(', ')}`);
      const page = `${new URL(found).origin}/connections`;
      const isOpened = await openBrowser(page, environment);
      write(isOpened ? `Opened ${page}\n` : `No browser could be started. Open ${page}\n`);
    });
}

interface Health {
  readonly isReady: boolean;
  /** Paths of the servers behind the gateway, with their states. */
  readonly backends: Readonly<Record<string, string>>;
}

/** Asks the server itself, as a proxy in front may be down; one that ends TLS itself by its public URL. */
async function healthOf({ host, port, url }: RunningServer): Promise<Health> {
  const local = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  const origin = `http://${local.includes(':') ? `[${local}]` : local}:${port}`;
  return (
    (await readHealth(origin)) ?? (await readHealth(new URL(url).origin)) ?? { isReady: false, backends: {} }
  );
}

async function readHealth(origin: string): Promise<Health | null> {
  try {
    const response = await fetch(`${origin}/readyz`, { signal: AbortSignal.timeout(TIMEOUT) });
    const body: unknown = await response.json();
    const states = isObject(body) && isObject(body['backends']) ? Object.entries(body['backends']) : [];
    return {
      isReady: response.ok,
      backends: Object.fromEntries(states.map(([path, state]) => [path, String(state)])),
    };
  } catch {
    return null;
  }
}

function describe({ url, isReady, pid, database, config, backends }: RunningServer & Health): string {
  const facts = [
    ['state', isReady ? 'ready' : 'not ready'],
    ...Object.entries(backends).map(([path, state]) => [path, state]),
    ['process', String(pid)],
    ['database', database],
    ...(config === null ? [] : [['configuration', config]]),
  ];
  return `${cleanLine(url)}\n${columns(facts.map(([name = '', text = '']) => [`  ${cleanLine(name)}`, cleanLine(text)]))}`;
}
