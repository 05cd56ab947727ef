/** Counts audit events: by type, refusals by reason, and calls by server with their latency. */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import { addHistograms, bucketOf, type Histogram } from './histogram.ts';

/** What is counted of the events of a time. */
export interface Counts {
  /** By type. */
  readonly events: Readonly<Record<string, number>>;
  /** By type, and where a type has several reasons by reason: `call.finished:denied`, `login.failed`. */
  readonly refusals: Readonly<Record<string, number>>;
  /** By the path of a server behind the gateway. */
  readonly servers: Readonly<Record<string, ServerCounts>>;
  /** Milliseconds that the gateway itself added to allowed calls. */
  readonly gateway: Histogram;
}

/** Calls of a server. */
interface ServerCounts {
  readonly calls: number;
  readonly refused: number;
  /** Allowed, but without a response of the backend. */
  readonly failed: number;
  /** Milliseconds until the backend had responded. */
  readonly backend: Histogram;
}

export const NO_COUNTS: Counts = { events: {}, refusals: {}, servers: {}, gateway: {} };
const NO_CALLS: ServerCounts = { calls: 0, refused: 0, failed: 0, backend: {} };

/** Different reasons, and servers, that are told apart: those of a configuration, not of requests. */
const MAX_NAMES = 200;
const OTHERS = '(others)';

/** Types that are refusals, with the detail that says why. */
const REFUSALS: ReadonlyMap<string, string | null> = new Map([
  ['login.failed', null],
  ['federated_login.failed', null],
  ['client_metadata_document.rejected', null],
  ['approval.denied', null],
  ['request.rejected', 'error'],
]);
/** Outcomes of allowed calls that the backend did not respond to. */
const FAILED: readonly unknown[] = ['unavailable', 'timeout'];

type Mutable<T> = { -readonly [K in keyof T]: Mutable<T[K]> };

/** The counts with events added. */
export function countEvents(
  before: Counts,
  events: readonly Pick<AuditEventRecord, 'type' | 'details'>[],
): Counts {
  const counts: Mutable<Counts> = structuredClone(before);
  for (const { type, details } of events) {
    increase(counts.events, type);
    if (type === 'call.finished') countCall(counts, details);
    const detail = REFUSALS.get(type);
    if (detail !== undefined) countRefusal(counts, type, detail === null ? undefined : details[detail]);
  }
  return counts;
}

function increase(counted: Record<string, number>, name: string | number): void {
  counted[name] = (counted[name] ?? 0) + 1;
}

function countRefusal({ refusals }: Mutable<Counts>, type: string, reason: unknown): void {
  increase(refusals, nameOrOthers(refusals, typeof reason === 'string' ? `${type}:${reason}` : type));
}

function countCall(counts: Mutable<Counts>, details: AuditEventRecord['details']): void {
  const { decision, outcome, server: named, duration, backendDuration } = details;
  const path = nameOrOthers(counts.servers, typeof named === 'string' ? named : OTHERS);
  const server = counts.servers[path] ?? { calls: 0, refused: 0, failed: 0, backend: {} };
  counts.servers[path] = server;
  server.calls += 1;
  if (decision !== 'allowed') {
    server.refused += 1;
    countRefusal(counts, 'call.finished', decision);
    return;
  }
  if (FAILED.includes(outcome)) server.failed += 1;
  if (typeof duration !== 'number' || typeof backendDuration !== 'number') return;
  increase(server.backend, bucketOf(backendDuration));
  increase(counts.gateway, bucketOf(duration - backendDuration));
}

function nameOrOthers(counted: Readonly<Record<string, unknown>>, name: string): string {
  return Object.hasOwn(counted, name) || Object.keys(counted).length < MAX_NAMES ? name : OTHERS;
}

/** The sum of several. */
export function sumCounts(all: readonly Counts[]): Counts {
  return all.reduce(addCounts, NO_COUNTS);
}

function addCounts(one: Counts, other: Counts): Counts {
  const servers: Record<string, ServerCounts> = { ...one.servers };
  for (const [path, added] of Object.entries(other.servers)) {
    const { calls, refused, failed, backend } = servers[path] ?? NO_CALLS;
    servers[path] = {
      calls: calls + added.calls,
      refused: refused + added.refused,
      failed: failed + added.failed,
      backend: addHistograms(backend, added.backend),
    };
  }
  return {
    events: addHistograms(one.events, other.events),
    refusals: addHistograms(one.refusals, other.refusals),
    servers,
    gateway: addHistograms(one.gateway, other.gateway),
  };
}
