/** What is under way at one server, and its limits: slots for requests and streams at once, memory for long bodies, calls per minute. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isLasting } from '@portcullis/http/node';
import { createLruCache, type LruCache } from '@portcullis/protocol';
import { createGauge } from '../gauge.ts';
import {
  BODY_MEMORY_OF_ALL,
  BODY_MEMORY_OF_USER,
  MAX_CALL_BUCKETS,
  MAX_MESSAGE_VALUES,
  MAX_NEW_TOOLS,
  MAX_TOOL_NAME,
  SLOT_SHARE,
  VALUE_MEMORY,
} from '../limits.ts';
import type { ScannedBody } from '../messages/scanned-message.ts';
import { type Owner, userKey } from '../servers/request.ts';
import type { GatewayServer } from '../servers/server.ts';
import { tooManyCalls, unavailable } from './error-response.ts';

/** Acquires a slot. @returns an idempotent release function @throws GatewayError 503 when none is free, 429 at the share of the user */
type TakeSlot = (owner: Owner) => () => void;

export type ServerSlots = ReturnType<typeof createServerSlots>;

/** The limits of one server, shared by the pass-through and the message path. @param server its limits are read at each use: they may change */
export function createServerSlots(server: Pick<GatewayServer, 'name' | 'limits'>) {
  /** Of each user. */
  const streams = createGauge(() => server.limits.streamsPerUser);
  return {
    takeRequest: createRequestSlots(server),
    takeStream(owner: Owner): () => void {
      const release = streams.take(userKey(owner));
      if (release === null)
        throw tooManyCalls(`Too many open streams to ${server.name}: close one first.`, 5);
      return release;
    },
    streams,
    takeMemory: createBodyMemory(server),
  };
}

/**
 * Reserves memory for a long body that is buffered, or for the values of one that is parsed.
 * @returns a release function @throws GatewayError 503 when none is free, 429 when the user has their share
 */
function createBodyMemory(server: Pick<GatewayServer, 'name' | 'limits'>) {
  const taken = createGauge(() => Math.max(bodyMemory(server), BODY_MEMORY_OF_USER));
  return (owner: Owner, bytes: number): (() => void) => {
    const { name } = server;
    const all = Math.max(bodyMemory(server), BODY_MEMORY_OF_ALL);
    if (taken.total + bytes > all) throw unavailable(`${name} is busy: too many long bodies at once.`, 1);
    const release = taken.take(userKey(owner), bytes);
    if (release === null)
      throw tooManyCalls(
        `Too many long bodies for ${name} at once: wait until some of yours are answered.`,
        1,
      );
    return release;
  };
}

/** Of one body, also parsed. */
function bodyMemory({ limits }: Pick<GatewayServer, 'limits'>): number {
  return limits.body + MAX_MESSAGE_VALUES * VALUE_MEMORY;
}

function createRequestSlots(server: Pick<GatewayServer, 'name' | 'limits'>): TakeSlot {
  const taken = createGauge(() => server.limits.concurrency);
  return (owner) => {
    const { name, limits } = server;
    const user = userKey(owner);
    const free = limits.concurrency - taken.total;
    const used = taken.used(user);
    if (free > 0 && used > 0 && used >= SLOT_SHARE * (free - 1))
      throw tooManyCalls(`Too many requests to ${name} at once: wait until some of yours are answered.`, 1);
    const release = free > 0 ? taken.take(user) : null;
    if (release === null) throw unavailable(`${name} is busy: too many requests at once.`, 1);
    return release;
  };
}

export type CallRate = ReturnType<typeof createCallRate>;

/** Counts a call of a tool by user, across clients. @param rate `null`: calls are not limited @throws GatewayError 429 */
export function countCall(
  { rate, server }: { readonly rate: CallRate | null; readonly server: Pick<GatewayServer, 'name'> },
  { issuer, subject }: Owner,
  tool: string,
): void {
  const wait = rate?.take(`${issuer} ${subject}`, tool.slice(0, MAX_TOOL_NAME), performance.now()) ?? 0;
  if (wait > 0) throw tooManyCalls(`Too many calls of ${tool} at ${server.name}.`, wait);
}

/** Counts the calls of tools in a body. The parameters are those of `countCall`. @throws GatewayError 429 */
export function countCalls(
  served: Parameters<typeof countCall>[0],
  owner: Owner,
  { messages }: ScannedBody,
): void {
  if (served.rate === null) return;
  for (const { tool } of messages) if (tool !== null) countCall(served, owner, tool);
}

interface Bucket {
  tokens: number;
  /** Milliseconds. */
  at: number;
}

/** Limits the calls of one user of a server by tool: a token bucket for each. @param perMinute also the size of a burst */
export function createCallRate(perMinute: number) {
  const calls = createLruCache<Bucket>({ entries: MAX_CALL_BUCKETS });
  /** By user, of tools without a call for a minute, in which a bucket fills up: no user evicts buckets by calling ever new names. */
  const newTools = createLruCache<Bucket>({ entries: MAX_CALL_BUCKETS });

  return {
    perMinute,
    /** Counts a call. @returns 0, or the seconds until the next one is allowed */
    take(user: string, tool: string, now: number): number {
      const key = `${user} ${tool}`;
      const known = calls.get(key);
      const isNew = known === undefined || now - known.at >= 60_000;
      const wait = isNew ? takeToken(newTools, user, MAX_NEW_TOOLS, now) : 0;
      return wait > 0 ? wait : takeToken(calls, key, perMinute, now);
    },
  };
}

/** @returns 0, or the seconds until there is a token */
function takeToken(buckets: LruCache<Bucket>, key: string, perMinute: number, now: number): number {
  const bucket = buckets.get(key);
  if (bucket === undefined) {
    buckets.set(key, { tokens: perMinute - 1, at: now });
    return 0;
  }
  bucket.tokens = Math.min(perMinute, bucket.tokens + ((now - bucket.at) * perMinute) / 60_000);
  bucket.at = now;
  if (bucket.tokens < 1) return ((1 - bucket.tokens) * 60) / perMinute;
  bucket.tokens -= 1;
  return 0;
}

export type OpenRequests = ReturnType<typeof createOpenRequests>;

/** The requests under way at one backend: it ends after the last of them. */
export function createOpenRequests() {
  const streams = new Set<ServerResponse>();
  const drained = Promise.withResolvers<void>();
  let count = 0;
  let isDraining = false;
  const resolveIfDrained = (): void => {
    if (isDraining && count === 0) drained.resolve();
  };
  // One for all responses.
  function remove(this: ServerResponse): void {
    count -= 1;
    streams.delete(this);
    resolveIfDrained();
  }
  return {
    add(incoming: IncomingMessage, outgoing: ServerResponse): void {
      if (outgoing.destroyed) return;
      count += 1;
      outgoing.on('close', remove);
      if (!isLasting(incoming)) return;
      streams.add(outgoing);
      if (isDraining) endStream(outgoing);
    },
    /**
     * Ends the event streams that stay open, whose clients open them again. Resolves when no request is left.
     * @param limit milliseconds after which it resolves nevertheless
     */
    drain(limit: number): Promise<void> {
      isDraining = true;
      for (const stream of streams) endStream(stream);
      resolveIfDrained();
      const timer = setTimeout(drained.resolve, limit).unref();
      return drained.promise.finally(() => clearTimeout(timer));
    },
  };
}

function endStream(outgoing: ServerResponse): void {
  if (outgoing.headersSent) outgoing.end();
  else outgoing.destroy();
}
