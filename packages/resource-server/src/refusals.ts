/** How a guard says no: to the client in an answer that it can act on, to the operator in an event. */
import { OAuthError } from '@portcullis/protocol/protected-resource';
import { answerJson, challengeAnswer, type GuardAnswer, refusalAnswer, type Scheme } from './answers.ts';
import type { Configuration, ProtectedResource } from './configuration.ts';
import type { Facts } from './facts.ts';
import type { OriginPolicy } from './origins.ts';
import { NO_HEADERS, standingOf } from './standing.ts';
import { findProtectedResource, pathOf } from './target.ts';

export interface Refusals {
  /** For a request without a token. */
  challenge(resource: ProtectedResource, facts: Facts): GuardAnswer;
  /** For a page or a host name that may not reach this server; `null` for all others. */
  refuseStranger(facts: Facts): GuardAnswer | null;
  /** For an error, of the guard or of the application behind it. */
  refuse(error: unknown, facts: Facts): GuardAnswer;
}

/** Creates what says no. */
export function createRefusals({ resources, origins, events }: Configuration): Refusals {
  const challenges = new Map(resources.map((resource) => [resource, challengeAnswer(resource.challenge)]));

  function refuse(error: unknown, facts: Facts): GuardAnswer {
    const resource = nearestResource(resources, facts.url);
    if (!(error instanceof OAuthError)) {
      const reason = 'the application or its scopesFor failed';
      events({ type: 'request.failed', resource: resource.resource, reason, cause: error });
      return withPageHeaders(FAILED, origins, facts);
    }
    const { status, code, reason = code } = error;
    events({ type: 'request.rejected', status, error: code, reason, resource: resource.resource });
    return withPageHeaders(
      refusalAnswer(error, resource.challenge, schemeOf(resource, facts)),
      origins,
      facts,
    );
  }

  return {
    refuse,
    challenge(resource, facts) {
      const answer = challenges.get(resource) ?? challengeAnswer(resource.challenge);
      return withPageHeaders(answer, origins, facts);
    },
    // MUST answer 403 to an invalid Origin; without a challenge, since no token would change it.
    refuseStranger({ origin, host }) {
      const isForeignPage = isPresent(origin) && !origins.admits(origin);
      if (!isForeignPage && (!isPresent(host) || origins.admitsHost(host))) return null;
      const [error, answer] = isForeignPage ? STRANGE_ORIGIN : STRANGE_HOST;
      events({
        type: 'request.rejected',
        status: 403,
        error,
        reason: 'possible DNS rebinding',
        resource: null,
      });
      return answer;
    },
  };
}

/** The scheme that the request tried, or the only one that would do. */
function schemeOf({ challenge }: ProtectedResource, { authorization, principal }: Facts): Scheme {
  if (challenge.proofAlgorithms === null) return 'Bearer';
  if (principal !== undefined && standingOf(principal)?.binding?.key) return 'DPoP';
  const field = typeof authorization === 'string' ? authorization : (authorization?.[0] ?? '');
  return challenge.bearer && !/^\s*dpop(?:\s|$)/i.test(field) ? 'Bearer' : 'DPoP';
}

/** For the challenge of a refusal, also of one that came before the resource was known. */
function nearestResource(resources: Configuration['resources'], url: string): ProtectedResource {
  try {
    return findProtectedResource(resources, pathOf(url)) ?? resources[0];
  } catch {
    return resources[0];
  }
}

export function isPresent<Value>(value: Value | null | undefined): value is Value {
  return value !== null && value !== undefined;
}

/** Headers that let the page that called read the answer of the application. */
export function pageHeaders(origins: OriginPolicy, { origin }: Facts): Readonly<Record<string, string>> {
  return isPresent(origin) && origins.admits(origin) ? origins.headersFor(origin) : NO_HEADERS;
}

/** Lets the page that called read the answer. */
function withPageHeaders(answer: GuardAnswer, origins: OriginPolicy, facts: Facts): GuardAnswer {
  return isPresent(facts.origin)
    ? { ...answer, headers: { ...answer.headers, ...pageHeaders(origins, facts) } }
    : answer;
}

const STRANGE_ORIGIN: readonly [string, GuardAnswer] = [
  'origin_not_allowed',
  answerJson(403, {
    error: 'origin_not_allowed',
    error_description: 'Pages of this origin may not call this server. Its operator can allow them.',
  }),
];

const STRANGE_HOST: readonly [string, GuardAnswer] = [
  'host_not_allowed',
  answerJson(403, {
    error: 'host_not_allowed',
    error_description: 'This server does not answer to this Host. Its operator can allow it.',
  }),
];

const FAILED: GuardAnswer = answerJson(500, {
  error: 'server_error',
  error_description: 'The request failed here. It is not your fault; tell the operator.',
});
