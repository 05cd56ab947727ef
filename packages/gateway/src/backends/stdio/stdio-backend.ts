/** Backends that are processes: started at the first call, one for each client of a user or one for all, stopped when idle, restarted after a crash. */
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { TransportReceiver } from '@portcullis/http';
import { createLruCache } from '@portcullis/protocol';
import {
  FIRST_RESTART_DELAY,
  LAST_RESTART_DELAY,
  MAX_PROCESSES_OF_USER,
  MAX_RESTART_BACKOFFS,
  PING_TIMEOUT,
  PROC_FILES_AT_ONCE,
  PROCESS_SWEEP,
  RESTART_PATIENCE,
  SLOW_START,
  STABLE_AFTER,
} from '../../limits.ts';
import { anonymousOwnerOf, type Owner, ownerKey, userKey } from '../../servers/request.ts';
import type { GatewayServer, StdioBackendDefinition } from '../../servers/server.ts';
import {
  BackendError,
  type BackendSession,
  type InitializeParams,
  type InitializeResult,
  type MessageBackend,
} from '../backend.ts';
import { createMessageExchange, type MessageExchange } from '../exchange/message-exchange.ts';
import { createIdlePool, type PoolEntry } from '../idle-pool.ts';
import { type ProcessLog, type StdioProcess, startProcess } from './process.ts';

export interface StdioBackendOptions {
  readonly server: Pick<GatewayServer, 'name' | 'limits'>;
  readonly definition: StdioBackendDefinition;
  readonly log: ProcessLog;
}

/** For whom a process is started. */
interface Opening {
  readonly owner: Owner;
  readonly initialize: InitializeParams;
  /** Whether callers share it who must not receive each other's messages. */
  readonly isShared: boolean;
}

/** A process, from the moment it is started. */
interface Running extends PoolEntry {
  readonly process: StdioProcess;
  readonly exchange: MessageExchange;
  readonly initialized: Promise<InitializeResult>;
  usedAt: number;
}

export function createStdioBackend(options: StdioBackendOptions): MessageBackend {
  // Over 60 lines: opening, starting and delaying a restart share the pool and whether it is closed.
  const { server, definition } = options;
  const { name } = server;
  const running = createPool(options);
  /** One user's crashes do not delay another's process. */
  const backoffs = createLruCache<RestartBackoff>({ entries: MAX_RESTART_BACKOFFS });
  let isUp = true;
  let isClosed = false;

  return {
    async open(given, initialize, { isBrief = false }) {
      // All callers without a token share a process: there may be more of them than processes.
      const owner = given.isAnonymous ? anonymousOwnerOf(given) : given;
      const isForAll = definition.process === 'shared';
      const kind = isForAll ? '' : keyOf(owner, initialize);
      const isOwn = isBrief && !isForAll;
      const key = isOwn ? `${kind} ${randomUUID()}` : kind;
      const isShared = isForAll || (owner.isAnonymous === true && !isOwn);
      const found = running.get(key) ?? (await start(key, kind, { owner, initialize, isShared }));
      found.usedAt = performance.now();
      const session: BackendSession = found.exchange.join(await found.initialized);
      found.usedAt = performance.now();
      return isOwn ? { ...session, close: () => session.close().then(found.close) } : session;
    },
    isUp: () => isUp,
    async close() {
      isClosed = true;
      await running.close();
    },
  };

  /** @param kind what processes whose crashes delay each other have in common */
  async function start(key: string, kind: string, opening: Opening): Promise<Running> {
    const backoff = backoffs.get(kind) ?? createRestartBackoff(name);
    backoffs.set(kind, backoff);
    await backoff.wait();
    if (isClosed) throw new BackendError('unavailable', `${name} is being stopped.`);
    // Another call may have started it meanwhile.
    const found = running.get(key);
    if (found !== undefined) return found;
    const added = running.add(key, userKey(opening.owner), () =>
      startRunning(options, opening, (ended) => running.remove(key, ended)),
    );
    const startedAt = performance.now();
    void added.process.exited.then((isExpected) => {
      if (isExpected || performance.now() - startedAt > STABLE_AFTER) backoffs.delete(kind);
      else backoff.failed();
    });
    isUp = await added.initialized.then(
      () => true,
      () => false,
    );
    if (!isUp) added.process.kill('did not initialize');
    return added;
  }
}

function createPool({ server, definition }: StdioBackendOptions) {
  const { processes, idle, memory } = definition.limits;
  let isMeasuring = false;
  return createIdlePool<Running>({
    limits: { entries: processes, perUser: MAX_PROCESSES_OF_USER, idle: idle * 1000 },
    interval: PROCESS_SWEEP,
    overloaded: (count) => `${server.name} already runs ${count} processes, and each of them is busy.`,
    onSweep(left) {
      // On a busy system, measuring can take longer than the interval.
      if (memory === null || isMeasuring) return;
      isMeasuring = true;
      void endLarge(left, memory).finally(() => {
        isMeasuring = false;
      });
    },
  });
}

/** @param onEnd called when the process has ended */
function startRunning(
  { server: { name, limits }, definition, log }: StdioBackendOptions,
  { owner, initialize, isShared }: Opening,
  onEnd: (ended: Running) => void,
): Running {
  // The exchange and the process refer to each other.
  const receiver: TransportReceiver = {
    accept: (message, relatedTo) => exchange.accept(message, relatedTo),
    fail(error) {
      onEnd(started);
      exchange.fail(error);
    },
  };
  const child = startProcess({ name, definition, frame: limits.frame, log }, receiver);
  const exchange: MessageExchange = createMessageExchange(child, {
    name,
    timeouts: { first: limits.firstByte * 1000, next: limits.idle * 1000 },
    isShared,
    onTimeout: () => void checkHanging(),
    onSettled: () => {
      started.usedAt = performance.now();
    },
  });
  const initialized = exchange.initialize(initialize);
  const { isBusy } = exchange;
  const { close } = child;
  const started: Running = {
    user: userKey(owner),
    process: child,
    exchange,
    initialized,
    isBusy,
    close,
    usedAt: performance.now(),
  };
  const slow = setTimeout(() => log(name, describeSlowStart(definition)), limits.firstByte * SLOW_START);
  slow.unref();
  void initialized.catch(() => undefined).finally(() => clearTimeout(slow));
  return started;

  async function checkHanging(): Promise<void> {
    await exchange.request('ping', {}, PING_TIMEOUT).catch(() => child.kill('does not answer'));
  }
}

/**
 * A process does not say which call its messages are about, and lists its tasks to all its sessions: those of one client of one user
 * share it. It is initialized once, so that they also declare the same capabilities; without a token, none.
 */
function keyOf(owner: Owner, { capabilities, protocolVersion }: InitializeParams): string {
  return JSON.stringify([ownerKey(owner), protocolVersion, owner.isAnonymous ? {} : capabilities]);
}

/** npm is silent while it downloads, and retries for minutes after a certificate error. */
export function describeSlowStart({ environment, command }: StdioBackendDefinition): string {
  const authorities = 'NODE_EXTRA_CA_CERTS';
  const isPassed =
    environment[authorities] !== undefined || command.some((word) => word.startsWith(`${authorities}=`));
  const isMissing = process.env[authorities] !== undefined && !isPassed;
  const hint = `; it does not get the ${authorities} of this process, which \`environment\` or \`env\` can pass on`;
  return `(still starting: npx may be downloading it${isMissing ? hint : ''})`;
}

type RestartBackoff = ReturnType<typeof createRestartBackoff>;

/** Increases the delay between starts of a process that fails. */
function createRestartBackoff(name: string) {
  let failures = 0;
  let nextAt = 0;
  return {
    /** Waits until the next start, if that is soon. @throws BackendError `unavailable` if it is not */
    async wait(): Promise<void> {
      const delay = nextAt - performance.now();
      if (delay <= 0) return;
      if (delay > RESTART_PATIENCE) {
        const seconds = Math.ceil(delay / 1000);
        const text = `${name} failed to start and is started again in ${seconds} s.`;
        throw new BackendError('unavailable', text, seconds);
      }
      await new Promise((done) => setTimeout(done, delay));
    },
    failed(): void {
      nextAt = performance.now() + Math.min(LAST_RESTART_DELAY, FIRST_RESTART_DELAY * 2 ** failures);
      failures += 1;
    },
  };
}

/** @param limit bytes of resident memory of a process with its children */
async function endLarge(running: Iterable<Running>, limit: number): Promise<void> {
  const sizes = await measureGroups();
  for (const { process } of running)
    if ((sizes.get(process.pid ?? 0) ?? 0) > limit) process.kill('used more memory than its limit');
}

const PAGE = 4096;

/**
 * Bytes of resident memory by process group; empty where the system does not provide it.
 * @see proc_pid_stat(5)
 */
async function measureGroups(): Promise<ReadonlyMap<number, number>> {
  const names = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const sizes = new Map<number, number>();
  const add = async (name: string) => {
    const text = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
    // The program's name is in parentheses and may contain any character.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const group = Number(fields[2]);
    if (group > 0) sizes.set(group, (sizes.get(group) ?? 0) + Number(fields[21]) * PAGE);
  };
  for (let at = 0; at < names.length; at += PROC_FILES_AT_ONCE)
    await Promise.all(names.slice(at, at + PROC_FILES_AT_ONCE).map(add));
  return sizes;
}
