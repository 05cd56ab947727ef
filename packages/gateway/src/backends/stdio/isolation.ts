/** Isolation of stdio processes from the host: a user of their own, or namespaces, where the system offers it. */
import { spawnSync } from 'node:child_process';
import type { StdioBackendDefinition } from '../../servers/server.ts';

/** What this system offers for processes of stdio backends. */
export interface Isolation {
  /** Whether this process may start others as another user. */
  readonly user: boolean;
  /** Whether processes can be started in namespaces of their own (users, processes, System V IPC). */
  readonly namespace: boolean;
}

const NAMESPACE = [
  '--user',
  '--map-current-user',
  '--pid',
  '--fork',
  '--kill-child',
  '--mount-proc',
  '--ipc',
] as const;

let detected: Isolation | undefined;

/** Detects once what the system offers. */
export function detectIsolation(): Isolation {
  detected ??= {
    user: process.platform !== 'win32' && process.getuid?.() === 0,
    namespace:
      process.platform === 'linux' &&
      spawnSync('unshare', [...NAMESPACE, 'true'], { timeout: 2000, stdio: 'ignore' }).status === 0,
  };
  return detected;
}

/** One line for startup. */
export function describeIsolation({ user, namespace }: Isolation): string {
  const offered = [...(user ? ['another user'] : []), ...(namespace ? ['namespaces'] : [])];
  return offered.length === 0
    ? 'This system offers neither another user nor namespaces to stdio servers; they run as this user.'
    : `This system offers stdio servers ${offered.join(' and ')}.`;
}

/** The program and its arguments, in namespaces if configured. */
export function wrapCommand({
  command,
  isolation,
}: StdioBackendDefinition): readonly [string, readonly string[]] {
  const [file, ...args] = command;
  return isolation === 'namespace' ? ['unshare', [...NAMESPACE, '--', file, ...args]] : [file, args];
}
