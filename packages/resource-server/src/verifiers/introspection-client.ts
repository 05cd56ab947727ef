/**
 * Calls an introspection endpoint (RFC 7662): single-flight per token, with a concurrency limit that clients share, and
 * a cool-down after failures.
 */
import {
  basicCredentials,
  beforeAbort,
  jsonMembers,
  SKEW_TOLERANCE,
  temporarilyUnavailable,
} from '@portcullis/protocol';
import { type FetchLimits, fetchWithoutRedirect, parseJsonBody, type RemoteResponse } from './fetch-json.ts';
import { createTokenShapes, hasFreeSlot, type SlotClaim } from './introspection-slots.ts';

/** The introspection response. */
type Introspection = Readonly<Record<string, unknown>>;

/**
 * Introspects a token.
 * @param address the remote address of its client; `null` if it is unknown
 * @throws OAuthError `temporarily_unavailable` if the endpoint cannot be used now
 */
export type Introspect = (token: string, now: number, address: string | null) => Promise<Introspection>;

/** Seconds of cool-down after a failure, and its maximum if the endpoint sends `Retry-After`. */
const COOLDOWN = 1;
const LONGEST_COOLDOWN = 60;

/**
 * Statuses that concern one token only: they must not pause introspection of others, or a strange token would lock
 * them out.
 */
const PER_TOKEN_STATUSES: ReadonlySet<number> = new Set([400, 413, 414, 422, 431, 500]);

interface PendingIntrospection extends SlotClaim {
  readonly response: Promise<Introspection>;
  /** Epoch seconds after which the request counts as lost. */
  readonly abandonedAt: number;
}

/** The endpoint failed to say whether a token is active. */
class IntrospectionFailure extends Error {
  override readonly name: string = 'IntrospectionFailure';
  /** Seconds of cool-down. */
  readonly pause: number;

  constructor(message: string, pause: number) {
    super(message);
    this.pause = pause;
  }
}

/**
 * Creates the client.
 * @param client credentials of the guard for HTTP Basic
 * @see RFC 7662 §2.1
 */
export function createIntrospectionClient(
  endpoint: string,
  limits: FetchLimits,
  client: { readonly id: string; readonly secret: string },
): Introspect {
  const authorization = basicCredentials(client.id, client.secret);
  const inFlight = new Map<string, PendingIntrospection>();
  const abandonedAfter = Math.ceil(limits.timeout / 1000) + 1;
  const shapes = createTokenShapes();
  let pausedUntil = 0;

  async function send(token: string): Promise<Introspection> {
    const response = await fetchWithoutRedirect(endpoint, limits, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
    });
    if (response.status !== 200) throw toFailure(response);
    const body = parseJsonBody(response);
    if (!isIntrospection(body)) throw new Error('the response does not say whether the token is active');
    if (body['active'] === true) shapes.add(token);
    return body;
  }

  function start(token: string, now: number, claim: SlotClaim): PendingIntrospection {
    const response = send(token).catch((error: unknown) => {
      const pause = error instanceof IntrospectionFailure ? error.pause : COOLDOWN;
      pausedUntil = Math.max(pausedUntil, now + pause);
      throw temporarilyUnavailable('introspection failed', Math.max(pause, COOLDOWN), error);
    });
    const pending = { ...claim, response, abandonedAt: now + abandonedAfter };
    const end = (): void => {
      if (inFlight.get(token) === pending) inFlight.delete(token);
    };
    response.then(end, end);
    inFlight.set(token, pending);
    return pending;
  }

  /** Some runtimes abort a fetch together with the request that started it. */
  function dropAbandoned(now: number): void {
    for (const [token, { abandonedAt }] of inFlight) if (now >= abandonedAt) inFlight.delete(token);
  }

  return async (token, now, address) => {
    let pending = inFlight.get(token);
    if (pending === undefined || now >= pending.abandonedAt) {
      // A longer pause is of a clock that was ahead.
      if (pausedUntil > now + LONGEST_COOLDOWN + SKEW_TOLERANCE) pausedUntil = 0;
      if (now < pausedUntil)
        throw temporarilyUnavailable('introspection failed a moment ago', pausedUntil - now);
      const claim = { address, isFamiliar: shapes.has(token) };
      if (!hasFreeSlot(inFlight.values(), claim)) dropAbandoned(now);
      if (!hasFreeSlot(inFlight.values(), claim))
        throw temporarilyUnavailable('too many concurrent introspection requests', COOLDOWN);
      pending = start(token, now, claim);
    }
    return beforeAbort(pending.response, AbortSignal.timeout(limits.timeout + 1000));
  };
}

function toFailure({ status, headers }: RemoteResponse): IntrospectionFailure {
  const wanted = Math.ceil(Number(headers.get('retry-after') ?? COOLDOWN)) || COOLDOWN;
  const quiet = Math.min(Math.max(wanted, COOLDOWN), LONGEST_COOLDOWN);
  return new IntrospectionFailure(
    `introspection responded ${status}`,
    PER_TOKEN_STATUSES.has(status) ? 0 : quiet,
  );
}

function isIntrospection(body: unknown): body is Introspection {
  return typeof jsonMembers(body)['active'] === 'boolean';
}
