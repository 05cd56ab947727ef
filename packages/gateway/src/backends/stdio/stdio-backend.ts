/** Backends that are processes: started at the first call, one for each user or one for all, ended when idle, started again after a crash. */
import { type Owner, userKey } from '../../servers/owner.ts';
import type { GatewayServer, StdioBackendDefinition } from '../../servers/server.ts';
import {
  BackendError,
  type BackendSession,
  type InitializeParams,
  type InitializeResult,
  type MessageBackend,
} from '../backend.ts';
import { createMessageExchange, type MessageExchange } from '../exchange.ts';
import type { WireReceiver } from '../wire.ts';
import { createRestartBackoff, type RestartBackoff } from './backoff.ts';
import { measureGroups } from './memory.ts';
import { type ProcessLog, type StdioProcess, startProcess } from './process.ts';

export interface StdioBackendOptions {
  readonly server: Pick<GatewayServer, 'name' | 'limits'>;
  readonly definition: StdioBackendDefinition;
  readonly log: ProcessLog;
}

/** A process, from the moment it is started. */
interface Running {
  readonly user: string;
  readonly process: StdioProcess;
  readonly exchange: MessageExchange;
  readonly initialized: Promise<InitializeResult>;
  /** `performance.now()` at which it last had something to do. */
  usedAt: number;
}

/** Milliseconds after which the end of a process is no failure of its start. */
const STABLE = 10_000;
const MAX_BACKOFFS = 10_000;
/** Processes of one user: clients that can do other things have processes of their own, and could claim anything. */
const MAX_PER_USER = 8;
/** Milliseconds between looks at idleness and memory. */
const WATCH = 1000;
/** Milliseconds after which the log says that a process is still starting, for each second that its caller waits: 10 s of 5 minutes. */
const SLOW = 1000 / 30;
/** Milliseconds that a silent process has for a ping before it counts as hanging. */
const PING_TIMEOUT = 5000;

export function createStdioBackend({ server, definition, log }: StdioBackendOptions): MessageBackend {
  const { name, limits } = server;
  const running = new Map<string, Running>();
  const backoffs = new Map<string, RestartBackoff>();
  let watch: NodeJS.Timeout | undefined;
  let isUp = true;
  let isClosed = false;

  return {
    async open(owner, initialize) {
      const key = keyOf(owner, initialize);
      const found = running.get(key) ?? (await start(key, owner, initialize));
      found.usedAt = performance.now();
      const session: BackendSession = found.exchange.join(await found.initialized, owner.clientId);
      found.usedAt = performance.now();
      return session;
    },
    isUp: () => isUp,
    async close() {
      isClosed = true;
      clearInterval(watch);
      await Promise.all([...running.values()].map(({ process }) => process.close()));
    },
  };

  /** A process is initialized once: clients of a user that can do the same share it. */
  function keyOf({ issuer, subject }: Owner, { capabilities, protocolVersion }: InitializeParams): string {
    return definition.process === 'shared'
      ? ''
      : JSON.stringify([issuer, subject, protocolVersion, capabilities]);
  }

  async function start(key: string, owner: Owner, initialize: InitializeParams): Promise<Running> {
    const backoff = backoffOf(key);
    await backoff.wait(name);
    if (isClosed) throw new BackendError('unavailable', `${name} is being stopped.`);
    // Another call may have started it meanwhile.
    const found = running.get(key);
    if (found !== undefined) return found;
    const user = userKey(owner);
    evictIdle(
      [...running].filter(([, one]) => one.user === user),
      MAX_PER_USER,
    );
    evictIdle([...running], definition.limits.processes);
    const started = startOne(user, initialize);
    running.set(key, started);
    watch ??= setInterval(() => void look(), WATCH).unref();
    const startedAt = performance.now();
    void started.process.exited.then((isExpected) => {
      if (isExpected || performance.now() - startedAt > STABLE) backoffs.delete(key);
      else backoff.failed();
    });
    await started.initialized.then(
      () => {
        isUp = true;
      },
      () => {
        isUp = false;
        started.process.kill('did not initialize');
      },
    );
    return started;
  }

  /** One user's crashes do not delay another's process. */
  function backoffOf(key: string): RestartBackoff {
    const backoff = backoffs.get(key) ?? createRestartBackoff();
    if (backoffs.size >= MAX_BACKOFFS) backoffs.clear();
    backoffs.set(key, backoff);
    return backoff;
  }

  function startOne(user: string, initialize: InitializeParams): Running {
    // The exchange and the process know each other.
    const receiver: WireReceiver = {
      accept: (message, relatedTo) => exchange.accept(message, relatedTo),
      fail: (error) => {
        for (const [key, one] of running) if (one.process === child) running.delete(key);
        exchange.fail(error);
      },
    };
    const child = startProcess({ name, definition, frame: limits.frame, log }, receiver);
    const exchange: MessageExchange = createMessageExchange(child, {
      name,
      timeouts: { first: limits.firstByte * 1000, next: limits.idle * 1000 },
      isShared: definition.process === 'shared',
      onSilence: () => void checkHanging(),
      onRest: () => {
        started.usedAt = performance.now();
      },
    });
    const initialized = exchange.initialize(initialize);
    const slow = setTimeout(() => log(name, describeSlowStart(definition)), limits.firstByte * SLOW).unref();
    void initialized.catch(() => undefined).finally(() => clearTimeout(slow));
    const started: Running = { user, process: child, exchange, initialized, usedAt: performance.now() };
    return started;

    async function checkHanging(): Promise<void> {
      await exchange.ask('ping', {}, PING_TIMEOUT).catch(() => child.kill('does not answer'));
    }
  }

  /** Makes place for one more. @throws BackendError when no process is idle */
  function evictIdle(among: readonly (readonly [string, Running])[], limit: number): void {
    if (among.length < limit) return;
    const idle = among.filter(([, { exchange }]) => !exchange.isBusy());
    const [oldest] = idle.toSorted(([, a], [, b]) => a.usedAt - b.usedAt);
    if (oldest === undefined)
      throw new BackendError(
        'overloaded',
        `${name} already runs ${among.length} processes, and each of them is busy.`,
      );
    end(...oldest);
  }

  function end(key: string, { process }: Running): void {
    running.delete(key);
    void process.close();
  }

  async function look(): Promise<void> {
    const now = performance.now();
    for (const [key, one] of running)
      if (!one.exchange.isBusy() && now - one.usedAt >= definition.limits.idle * 1000) end(key, one);
    if (running.size === 0) {
      clearInterval(watch);
      watch = undefined;
    } else if (definition.limits.memory !== null) await checkMemory(definition.limits.memory);
  }

  async function checkMemory(limit: number): Promise<void> {
    const sizes = await measureGroups();
    for (const { process } of running.values())
      if ((sizes.get(process.pid ?? 0) ?? 0) > limit) process.kill('used more memory than its limit');
  }
}

/** npm is silent while it downloads, and repeats for minutes what a certificate prevents. */
function describeSlowStart({ environment }: StdioBackendDefinition): string {
  const authorities = 'NODE_EXTRA_CA_CERTS';
  const isMissing = process.env[authorities] !== undefined && environment[authorities] === undefined;
  const hint = `; it does not get the ${authorities} of this process, which \`environment\` or \`env\` can pass on`;
  return `(still starting: npx may be downloading it${isMissing ? hint : ''})`;
}
