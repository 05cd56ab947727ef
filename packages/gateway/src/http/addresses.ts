/** The addresses of an HTTP backend: connections, which of them is down, and failover. */
import { createHash } from 'node:crypto';
import { Pool } from 'undici';
import type { GatewayServer, HttpBackendDefinition } from '../servers/server.ts';

/** One address of a backend. */
export interface Address {
  readonly url: URL;
  /** Path and query of its endpoint. */
  readonly target: string;
  /** Names the address in sealed sessions, which stay with it. */
  readonly tag: string;
  readonly pool: Pool;
  /** Milliseconds of `performance.now()` until which it counts as down; 0: it does not. */
  downUntil: number;
  /** Failures in a row. */
  failures: number;
  /** When a request or probe last succeeded, in the same clock. */
  lastSuccess: number;
}

export interface Addresses {
  readonly all: readonly Address[];
  /** The first address that is not down, or the one whose turn to be tried again has come; `null`: all are down. */
  choose(now: number, without?: ReadonlySet<Address>): Address | null;
  /** The address of a session. */
  byTag(tag: string): Address | null;
  succeeded(address: Address, now: number): void;
  /** @returns whether it counted as up before */
  failed(address: Address, now: number): boolean;
  /** Seconds until an address is tried again. */
  retryAfter(now: number): number;
  close(): Promise<void>;
}

/** Milliseconds for which an address is not tried after its first failure; doubled with each further one. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 30_000;
/** Milliseconds for which requests may finish after their server was changed or removed. */
const CLOSE_GRACE = 10_000;

export function createAddresses(
  { urls }: HttpBackendDefinition,
  { limits }: Pick<GatewayServer, 'limits'>,
): Addresses {
  const all = urls.map((url) => createAddress(url, limits));
  return {
    all,
    choose: (now, without) =>
      all.find((address) => address.downUntil <= now && without?.has(address) !== true) ?? null,
    byTag: (tag) => all.find((address) => address.tag === tag) ?? null,
    succeeded(address, now) {
      address.downUntil = 0;
      address.failures = 0;
      address.lastSuccess = now;
    },
    failed(address, now) {
      const wasUp = address.failures === 0;
      address.downUntil = now + Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** address.failures);
      address.failures += 1;
      return wasUp;
    },
    retryAfter: (now) => Math.max(0, Math.min(...all.map(({ downUntil }) => downUntil - now))) / 1000,
    async close() {
      // Streams would keep it open for ever.
      const deadline = setTimeout(() => {
        for (const { pool } of all) void pool.destroy();
      }, CLOSE_GRACE).unref();
      await Promise.all(all.map(({ pool }) => pool.close().catch(() => {})));
      clearTimeout(deadline);
    },
  };
}

function createAddress(url: URL, limits: GatewayServer['limits']): Address {
  return {
    url,
    target: `${url.pathname}${url.search}`,
    tag: createHash('sha256').update(url.href).digest('base64url').slice(0, 8),
    pool: new Pool(url.origin, {
      connections: null,
      pipelining: 1,
      headersTimeout: limits.firstByte * 1000,
      bodyTimeout: limits.idle * 1000,
      connect: { timeout: limits.connect * 1000 },
      maxHeaderSize: 32 * 1024,
    }),
    downUntil: 0,
    failures: 0,
    lastSuccess: 0,
  };
}
