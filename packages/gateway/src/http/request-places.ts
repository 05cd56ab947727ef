/** Places for requests and streams at a backend at once: no user takes all of them, however many requests they leave open. */
import { BODY_MEMORY_OF_ALL, BODY_MEMORY_OF_USER, SLOT_SHARE } from '../limits/bounds.ts';
import { createGauge, type Gauge } from '../limits/gauge.ts';
import { type Owner, userKey } from '../servers/owner.ts';
import type { GatewayServer } from '../servers/server.ts';
import { tooManyCalls, unavailable } from './error-response.ts';

/** Takes a place. @returns gives it back, once @throws GatewayError 503 when all are taken, 429 when the user has their share */
export type RequestPlaces = (owner: Owner) => () => void;

/** Of one server, by whatever path its requests take. */
export interface ServerPlaces {
  readonly takeRequest: RequestPlaces;
  /** Of each user. */
  readonly streams: Gauge;
  /**
   * Takes memory for a long body that is held.
   * @returns gives it back @throws GatewayError 503 when all is taken, 429 when the user has their part
   */
  readonly takeMemory: (owner: Owner, bytes: number) => () => void;
}

export function createServerPlaces(server: Pick<GatewayServer, 'name' | 'limits'>): ServerPlaces {
  return {
    takeRequest: createRequestPlaces(server),
    streams: createGauge(server.limits.streamsPerUser),
    takeMemory: createBodyMemory(server),
  };
}

function createBodyMemory({
  name,
  limits,
}: Pick<GatewayServer, 'name' | 'limits'>): ServerPlaces['takeMemory'] {
  const taken = createGauge(Math.max(limits.body, BODY_MEMORY_OF_USER));
  const all = Math.max(limits.body, BODY_MEMORY_OF_ALL);
  return (owner, bytes) => {
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

/** @throws GatewayError 429 */
export function takeStream(
  { streams }: ServerPlaces,
  { name }: Pick<GatewayServer, 'name'>,
  owner: Owner,
): () => void {
  const release = streams.take(userKey(owner));
  if (release === null) throw tooManyCalls(`Too many open streams to ${name}: close one first.`, 5);
  return release;
}

function createRequestPlaces({ name, limits }: Pick<GatewayServer, 'name' | 'limits'>): RequestPlaces {
  const taken = createGauge(limits.concurrency);
  return (owner) => {
    const user = userKey(owner);
    const free = limits.concurrency - taken.total;
    const held = taken.held(user);
    if (free > 0 && held > 0 && held >= SLOT_SHARE * (free - 1))
      throw tooManyCalls(`Too many requests to ${name} at once: wait until some of yours are answered.`, 1);
    const release = free > 0 ? taken.take(user) : null;
    if (release === null) throw unavailable(`${name} is busy: too many requests at once.`, 1);
    return release;
  };
}
