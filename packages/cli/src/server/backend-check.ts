/** Tries the servers behind the gateway before this one reports that it is ready, as `portcullis protect` does. */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { GatewayServer, ServerTest } from '@portcullis/gateway';
import { SettingsError } from '../errors.ts';
import { cleanLine } from '../terminal/clean.ts';

/** Milliseconds that a server at a URL may take to answer: it may be starting at the same time. */
const URL_PATIENCE = 5_000;
/** Milliseconds between attempts. */
const PAUSE = 500;
/** Milliseconds for the first start of a command: `npx` may be downloading it. */
const COMMAND_PATIENCE = 120_000;
/** Milliseconds after which a command that is still starting is reported. */
const SILENCE = 5_000;

/** @throws SettingsError for a command that does not start and initialize */
export function requireCommands(
  servers: readonly GatewayServer[],
  complain: (line: string) => void,
): Promise<void> {
  return tryBackends(servers.filter(isStdio), complain);
}

/** Resolves when each server at a URL has answered, with a warning for one that does not, or answers otherwise than expected. */
export async function tryUrls(
  servers: readonly GatewayServer[],
  complain: (line: string) => void,
): Promise<void> {
  // Requests that waited for the start come first: the HTTP client that is loaded now would delay them.
  await nextTurn();
  await tryBackends(
    servers.filter((server) => !isStdio(server)),
    complain,
  );
}

function isStdio({ backend }: GatewayServer): boolean {
  return backend?.kind === 'stdio';
}

async function tryBackends(
  servers: readonly GatewayServer[],
  complain: (line: string) => void,
): Promise<void> {
  if (servers.length === 0) return;
  const { describeSlowStart, testServer } = await import('@portcullis/gateway');
  await Promise.all(
    servers.map(async (server) => {
      const { backend } = server;
      if (backend === null) return;
      const isCommand = backend.kind === 'stdio';
      const patience = isCommand ? COMMAND_PATIENCE : URL_PATIENCE;
      const test = () => testServer(server, backend, patience);
      const whySlow = isCommand ? ` ${describeSlowStart(backend)}` : '';
      const waiting = () =>
        complain(
          `${describe(backend)} does not answer yet: waiting up to ${patience / 1000} seconds${whySlow}`,
        );
      const result = isCommand ? await reportSilence(test, waiting) : await untilAnswer(test, waiting);
      if (result.ok) return;
      const line = cleanLine(`${describe(backend)}: ${result.reason}`);
      if (isCommand && result.part === 'backend') throw new SettingsError([line]);
      complain(
        isCommand || result.part !== 'backend'
          ? line
          : `${line.replace(/\.$/, '')}. Calls get 503 until it answers.`,
      );
    }),
  );
}

/** @param onWait called when the test takes long */
async function reportSilence(test: () => Promise<ServerTest>, onWait: () => void): Promise<ServerTest> {
  const timer = setTimeout(onWait, SILENCE);
  return test().finally(() => clearTimeout(timer));
}

/** @param onWait called once */
async function untilAnswer(test: () => Promise<ServerTest>, onWait: () => void): Promise<ServerTest> {
  let isWaiting = false;
  for (const end = performance.now() + URL_PATIENCE; ; await sleep(PAUSE)) {
    const result = await test();
    if (result.ok || result.part !== 'backend' || performance.now() > end) return result;
    if (!isWaiting) onWait();
    isWaiting = true;
  }
}

function describe(backend: NonNullable<GatewayServer['backend']>): string {
  return backend.kind === 'stdio' ? backend.command.join(' ') : String(backend.urls[0]);
}
