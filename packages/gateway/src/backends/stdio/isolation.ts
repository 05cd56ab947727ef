/** Isolation of stdio processes from the host: a separate user, or namespaces, where the system supports it. */
import { spawnSync } from 'node:child_process';
import type { GatewayServer, StdioBackendDefinition } from '../../servers/server.ts';

/** Isolation that this system supports for stdio processes. */
export interface Isolation {
  /** Whether this process may start others as another user. */
  readonly user: boolean;
  /** Whether processes can be started in separate namespaces (users, processes, System V IPC). */
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

/** Detects once what the system supports. */
export function detectIsolation(): Isolation {
  detected ??= {
    user: process.platform !== 'win32' && process.getuid?.() === 0,
    namespace:
      process.platform === 'linux' &&
      spawnSync('unshare', [...NAMESPACE, 'true'], { timeout: 10_000, stdio: 'ignore' }).status === 0,
  };
  return detected;
}

/** One line for startup. */
export function describeIsolation({ user, namespace }: Isolation): string {
  const offered = [...(user ? ['identity'] : []), ...(namespace ? ['isolation'] : [])];
  return offered.length === 0
    ? 'This system offers stdio servers neither another user (identity) nor namespaces (isolation); they run as this user.'
    : `This system offers for stdio servers: ${offered.join(', ')}.`;
}

/** Configured isolation that this system does not support, as text for the operator. */
export function findMissingIsolation(
  servers: readonly Pick<GatewayServer, 'path' | 'backend'>[],
  detect: () => Isolation = detectIsolation,
): readonly string[] {
  return servers.flatMap(({ path, backend }) => {
    if (backend?.kind !== 'stdio') return [];
    return [
      backend.identity !== undefined &&
        !detect().user &&
        `backend.identity of ${path} needs a server that runs as root`,
      backend.isolation === 'namespace' &&
        !detect().namespace &&
        `backend.isolation of ${path} needs Linux with unshare and user namespaces, which are not offered here`,
    ].filter((missing) => missing !== false);
  });
}

/** The program and its arguments, in namespaces if configured. */
export function wrapCommand({
  command,
  isolation,
}: StdioBackendDefinition): readonly [string, readonly string[]] {
  const [file, ...args] = command;
  return isolation === 'namespace' ? ['unshare', [...NAMESPACE, '--', file, ...args]] : [file, args];
}
