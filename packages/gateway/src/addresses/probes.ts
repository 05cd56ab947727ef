/** Probes whether the addresses of a backend are reachable, before a request fails there. */

import { performance } from 'node:perf_hooks';
import type { buildConnector } from 'undici';
import { PROBE_RETRY, PROBE_START } from '../limits.ts';
import type { GatewayServer } from '../servers/server.ts';
import type { Address, Addresses } from './addresses.ts';
import { connectionFailure } from './connection-failure.ts';

export interface ProbeOptions {
  /** Milliseconds without a response after which an address is probed. */
  readonly interval: number;
  /** Probes at once, of all backends. */
  readonly slots: { take(key: string): (() => void) | null };
}

/**
 * Probes addresses without a recent response, and those that are down. A probe is a connection, with its TLS handshake, and
 * no request: it costs the backend nothing, starts no process there, and needs no credential. Does not keep this process
 * alive.
 * @returns a function that stops probing
 */
export function startProbes(
  addresses: Addresses,
  { limits }: Pick<GatewayServer, 'limits'>,
  { interval, slots }: ProbeOptions,
): () => void {
  let connector: Promise<buildConnector.connector> | null = null;
  const timers = new Map<Address, NodeJS.Timeout>();
  let isStopped = false;
  for (const address of addresses.all) plan(address, Math.random() * Math.min(PROBE_START, interval));
  return () => {
    isStopped = true;
    for (const timer of timers.values()) clearTimeout(timer);
  };

  function plan(address: Address, delay: number): void {
    if (!isStopped) timers.set(address, setTimeout(look, delay, address).unref());
  }

  function look(address: Address): void {
    const rest = dueAt(address) - performance.now();
    const release = rest > 0 ? null : slots.take('');
    if (release === null) plan(address, varied(rest > 0 ? rest : PROBE_RETRY));
    else void probe(address, release);
  }

  function dueAt({ failures, downUntil, lastSuccess }: Address): number {
    return failures > 0 ? downUntil : lastSuccess + interval;
  }

  /** Loaded with the first probe, after the start. */
  async function loadConnector(): Promise<buildConnector.connector> {
    const { buildConnector } = await import('undici');
    return buildConnector({ timeout: limits.connect * 1000 });
  }

  async function probe(address: Address, release: () => void): Promise<void> {
    connector ??= loadConnector();
    const connect = await connector;
    const { hostname, host, protocol, port } = address.url;
    connect({ hostname: hostname.replace(/^\[|\]$/g, ''), host, protocol, port }, (error, socket) => {
      socket?.destroy();
      release();
      if (isStopped) return;
      const now = performance.now();
      if (error === null) addresses.succeeded(address, now);
      else addresses.failed(address, now, connectionFailure(error) ?? error.message);
      plan(address, varied(dueAt(address) - now));
    });
  }
}

/** Spreads the probes of many backends that were started, or went down, together. */
function varied(milliseconds: number): number {
  return milliseconds * (1 + Math.random() / 5);
}
