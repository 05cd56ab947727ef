/**
 * What `portcullis up` serves, in the process of the test: a process of its own costs a second of processor time, and few tests are
 * about it. Those use `portcullis.ts` and `protect.ts`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FileConfiguration } from '@portcullis/cli';
import { prepare } from '../../packages/cli/src/server/prepare.ts';
import { start } from '../../packages/cli/src/server/start.ts';
import { createContext } from '../../packages/cli/test/support/in-process.ts';
import { createInstallation, owner, type Portcullis } from './portcullis.ts';
import { reservePort } from './ports.ts';
import { serveCommand } from './served-command.ts';

const NOTES = fileURLToPath(new URL('../../examples/notes/src/app.ts', import.meta.url));

/** Milliseconds in which requests may finish when the server stops. */
const GRACE = 5_000;

interface ServerHere {
  /** Origin and issuer. */
  readonly url: string;
  output(): string;
  errors(): string;
  stop(): Promise<void>;
}

export type PortcullisHere = Omit<Portcullis, 'processorTime' | 'residentMemory' | 'restart' | 'stop'> & {
  /** Stops the server and starts another on the same port and data; `between` runs in the meantime. */
  restart(between?: (database: string) => void): Promise<void>;
  /** Stops the server and removes its data. Rejects where its process would not exit with 0. */
  stop(): Promise<void>;
};

/**
 * Starts Portcullis as `startPortcullis` does, but here.
 * @param configuration the content of the configuration file
 * @param application a module to protect instead of the example
 */
export async function startPortcullisHere(
  configuration: FileConfiguration = {},
  application: string = NOTES,
): Promise<PortcullisHere> {
  const { folder, database, environment } = await createInstallation(configuration);
  const port = await reservePort();
  const settings = { ...environment, PORTCULLIS_PORT: String(port), PORTCULLIS_APP: application };
  let running = await startHere(folder, settings);
  const { url } = running;
  return {
    port,
    url,
    resource: `${url}/mcp`,
    configHome: folder,
    database,
    output: () => running.output(),
    errors: () => running.errors(),
    async restart(between) {
      await running.stop();
      between?.(database);
      running = await startHere(folder, settings);
    },
    async stop() {
      await running.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Runs `portcullis protect` here.
 * @param words a URL, or `--` and a command
 */
export async function startProtectHere(
  words: readonly string[],
  configuration: FileConfiguration = {},
): Promise<Pick<PortcullisHere, 'url' | 'resource' | 'stop'>> {
  const { folder, environment } = await createInstallation(configuration);
  const settings = { ...environment, PORTCULLIS_PORT: '0' };
  const running = await serveCommand(['protect', ...words], { folder, environment: settings });
  return {
    url: running.url,
    resource: `${running.url}/mcp`,
    async stop() {
      await running.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Starts a gateway with data in memory.
 * @param servers as in the configuration file
 * @param requiresBackends whether they are tried first, as `portcullis protect` does
 */
export async function startGatewayHere(
  servers: readonly object[],
  requiresBackends: boolean,
): Promise<ServerHere> {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-gateway-'));
  const settings = {
    HOME: folder,
    PORTCULLIS_PORT: '0',
    PORTCULLIS_DATABASE: ':memory:',
    PORTCULLIS_BOOTSTRAP_EMAIL: owner.email,
    PORTCULLIS_BOOTSTRAP_PASSWORD: owner.password,
    PORTCULLIS_SERVERS: JSON.stringify(servers),
  };
  const running = await startHere(folder, settings, requiresBackends);
  return {
    ...running,
    async stop() {
      await running.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startHere(
  folder: string,
  environment: Readonly<Record<string, string | undefined>>,
  requiresBackends = false,
): Promise<ServerHere> {
  const { processContext, written } = createContext({ environment, folder });
  const prepared = await prepare({ flags: {}, environment: processContext.environment, folder });
  const running = await start(prepared, { ...processContext, requiresBackends });
  const [, url = ''] = /^ready (\S+)\n/m.exec(written.output) ?? [];
  return {
    url,
    output: () => written.output,
    errors: () => written.errors,
    stop: () => running.stop(GRACE),
  };
}
