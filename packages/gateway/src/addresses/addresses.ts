/** The addresses of an HTTP backend: connections, health and failover. */

import { createHash } from 'node:crypto';
import { CLOSE_GRACE, FIRST_PAUSE, LONGEST_PAUSE } from '../limits.ts';
import type { GatewayServer, HttpBackendDefinition } from '../servers/server.ts';
import { type BackendPool, createBackendPool } from './backend-pool.ts';

/** One address of a backend. */
export interface Address {
  readonly url: URL;
  /** Path and query of its endpoint. */
  readonly target: string;
  /** Identifies the address in sealed session IDs, which are bound to it. */
  readonly tag: string;
  readonly pool: BackendPool;
  /** Milliseconds of `performance.now()` until which it counts as down; 0: it does not. */
  downUntil: number;
  /** Failures in a row. */
  failures: number;
  /** When a request or probe last reached it, in the same clock. */
  lastSuccess: number;
}

export type Addresses = ReturnType<typeof createAddresses>;

/** Called when an address of a backend goes down, or recovers (`null`). */
export type HealthListener = (server: GatewayServer, address: Address, reason: string | null) => void;

/** @param onHealth called when an address goes down, with a reason, and when it recovers */
export function createAddresses(
  { urls: [first, ...others] }: HttpBackendDefinition,
  server: GatewayServer,
  onHealth: HealthListener,
) {
  /** In order of preference. */
  const all: readonly [Address, ...Address[]] = [
    createAddress(first, server.limits),
    ...others.map((url) => createAddress(url, server.limits)),
  ];
  return {
    all,
    /** The first address that is up, else one due for a retry; `null`: all are down. */
    choose(now: number, without: readonly Address[] = []): Address | null {
      const isLeft = (address: Address) => !without.includes(address);
      return (
        all.find((address) => address.failures === 0 && isLeft(address)) ??
        all.find((address) => address.downUntil <= now && isLeft(address)) ??
        null
      );
    },
    /** Whether at least one of them is believed to be up. */
    isUp: (): boolean => all.some(({ failures }) => failures === 0),
    /** The address of a session. */
    byTag: (tag: string): Address | null => all.find((address) => address.tag === tag) ?? null,
    succeeded(address: Address, now: number): void {
      const wasDown = address.failures > 0;
      address.downUntil = 0;
      address.failures = 0;
      address.lastSuccess = now;
      if (wasDown) onHealth(server, address, null);
    },
    /** @param reason code of the failure, for the log */
    failed(address: Address, now: number, reason: string): void {
      const wasUp = address.failures === 0;
      address.downUntil = now + Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** address.failures);
      address.failures += 1;
      if (wasUp) onHealth(server, address, reason);
    },
    /** Seconds until an address is retried. */
    retryAfter: (now: number): number =>
      Math.max(0, Math.min(...all.map(({ downUntil }) => downUntil - now))) / 1000,
    async close(): Promise<void> {
      // Open streams would delay the close for ever.
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
    pool: createBackendPool(url, limits),
    downUntil: 0,
    failures: 0,
    lastSuccess: Number.NEGATIVE_INFINITY,
  };
}
