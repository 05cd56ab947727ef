/**
 * The HTTP client of an external decision point. Closed on failure: whatever is not a decision is an outage, never a permission.
 * @see OpenID Authorization API 1.0 (AuthZEN) §10.1
 */
import { parseStrictJson } from '@portcullis/http';
import type { OutboundFetch } from '@portcullis/http/outbound';
import {
  type Evaluation,
  type EvaluationOptions,
  evaluationKey,
  joinEvaluations,
  type PolicyDecision,
  readEvaluation,
  readEvaluations,
} from '@portcullis/policy';
import { createLruCache, grantForm, OAuthError, temporarilyUnavailable } from '@portcullis/protocol';
import {
  type BackendCredentials,
  createObtainedCredentials,
  fixedCredentials,
} from '../credentials/token-credential.ts';
import { createConfiguredFetch, requestTokensAt } from '../credentials/token-request.ts';
import {
  EVALUATION_REQUESTS_AT_ONCE,
  MAX_CACHED_DECISIONS,
  MAX_EVALUATIONS,
  MAX_RETRY_AFTER,
  POINT_RETRY_AFTER,
} from '../limits.ts';
import type { ApplicationCredentials, DecisionPointDefinition } from './options.ts';

/** An external decision point. */
export interface DecisionPoint {
  readonly options: EvaluationOptions;
  /**
   * Decides about evaluations of one subject and context: one decision for each, in order.
   * @throws OAuthError `temporarily_unavailable`, 503
   */
  evaluate(evaluations: readonly Evaluation[]): Promise<readonly PolicyDecision[]>;
}

interface CachedDecision {
  readonly decision: PolicyDecision;
  /** Epoch milliseconds. */
  readonly until: number;
}

/** @param clock epoch milliseconds */
export function createDecisionPoint(
  definition: DecisionPointDefinition,
  clock: () => number = Date.now,
): DecisionPoint {
  const ask = createSender(definition, clock);
  const known = createLruCache<CachedDecision>(MAX_CACHED_DECISIONS);
  /** Decisions under way: equal evaluations share one. */
  const pending = new Map<string, Promise<PolicyDecision>>();
  const lifetime = definition.cache * 1000;

  function find(key: string): PolicyDecision | Promise<PolicyDecision> | null {
    const found = known.get(key);
    const left = found === undefined ? 0 : found.until - clock();
    // More is left of it than there was: the clock stepped back.
    return found !== undefined && left > 0 && left <= lifetime ? found.decision : (pending.get(key) ?? null);
  }

  function share(key: string, decision: Promise<PolicyDecision>, until: number): void {
    if (lifetime === 0) return;
    pending.set(key, decision);
    const end = () => pending.delete(key);
    decision.then((decided) => known.set(key, { decision: decided, until })).then(end, end);
  }

  return {
    options: { subject: definition.subject, arguments: definition.arguments },
    async evaluate(evaluations) {
      const keyed = evaluations.map((evaluation) => {
        const key = evaluationKey(evaluation);
        return { evaluation, key, found: find(key) };
      });
      const open = keyed.filter(({ found }) => found === null);
      const until = clock() + lifetime;
      const asked = askAll(
        ask,
        open.map(({ evaluation }) => evaluation),
      );
      const answers = open.map(({ key }, index) => {
        const decision = asked.then((decisions) => decisions[index] ?? missingDecision());
        share(key, decision, until);
        return decision;
      });
      const next = answers.values();
      return Promise.all(keyed.map(({ found }) => found ?? next.next().value ?? missingDecision()));
    },
  };
}

function missingDecision(): never {
  throw new TypeError('a decision is missing');
}

type Ask = (evaluations: readonly Evaluation[]) => Promise<readonly PolicyDecision[]>;

async function askAll(ask: Ask, evaluations: readonly Evaluation[]): Promise<readonly PolicyDecision[]> {
  const decisions: PolicyDecision[] = [];
  const step = MAX_EVALUATIONS * EVALUATION_REQUESTS_AT_ONCE;
  for (let first = 0; first < evaluations.length; first += step) {
    const batches: Promise<readonly PolicyDecision[]>[] = [];
    for (let at = first; at < Math.min(first + step, evaluations.length); at += MAX_EVALUATIONS)
      batches.push(ask(evaluations.slice(at, at + MAX_EVALUATIONS)));
    decisions.push(...(await Promise.all(batches)).flat());
  }
  return decisions;
}

function createSender({ url, timeout, credentials }: DecisionPointDefinition, clock: () => number): Ask {
  const createFetch = (at: string) => createConfiguredFetch(at, timeout * 1000);
  const fetch = createFetch(url);
  const authentication =
    credentials.as === 'application'
      ? createApplicationCredentials(credentials, createFetch(credentials.tokenEndpoint), clock)
      : fixedCredentials(credentials.as === 'header' ? { [credentials.name]: credentials.value } : {});

  async function send(path: string, body: unknown, mayRetry = true): Promise<unknown> {
    const endpoint = `${url}/access/v1/${path}`;
    const credential = await authentication.for(null);
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        'x-request-id': crypto.randomUUID(),
        ...credential.headers,
      },
      body: JSON.stringify(body),
      redirect: 'manual',
    });
    const { status, headers } = response;
    const answer = { url: endpoint, status, headers };
    if (status === 401 && mayRetry && (await authentication.rejected(null, answer, credential)) === 'retry')
      return send(path, body, false);
    if (status !== 200) throw unavailable(`it responded ${status}`, readRetryAfter(headers));
    return parseStrictJson(await response.text());
  }

  return async (evaluations) => {
    const [only, ...others] = evaluations;
    if (only === undefined) return [];
    try {
      if (others.length === 0) return [readEvaluation(await send('evaluation', only))];
      return readEvaluations(await send('evaluations', joinEvaluations(evaluations)), evaluations.length);
    } catch (error) {
      if (error instanceof OAuthError) throw error;
      throw unavailable(error instanceof Error ? error.message : 'it failed', POINT_RETRY_AFTER, error);
    }
  };
}

/** One access token for all requests. @see RFC 6749 §4.4 */
function createApplicationCredentials(
  { tokenEndpoint, clientId, clientSecret, scopes }: ApplicationCredentials,
  fetch: OutboundFetch,
  clock: () => number,
): BackendCredentials<null> {
  return createObtainedCredentials<null>({
    clock,
    keyOf: () => clientId,
    async obtain() {
      const form = grantForm({ grant_type: 'client_credentials' }, { resource: null, scopes });
      const client = { clientId, clientSecret };
      const request = {
        endpoint: tokenEndpoint,
        issuer: tokenEndpoint,
        client,
        form,
        scopes,
        resource: null,
      };
      return (await requestTokensAt(fetch, request, clock)).tokens;
    },
  });
}

function unavailable(reason: string, retryAfter: number, cause?: unknown): OAuthError {
  return temporarilyUnavailable(`the policy decision point: ${reason}`, retryAfter, cause);
}

function readRetryAfter(headers: Pick<Headers, 'get'>): number {
  const seconds = Number(headers.get('retry-after') ?? POINT_RETRY_AFTER);
  return Number.isInteger(seconds) && seconds > 0 ? Math.min(seconds, MAX_RETRY_AFTER) : POINT_RETRY_AFTER;
}
