/** Answers that a guard gives itself: refusals with their challenge, documents, preflights. */
import type { OAuthError, Scopes } from '@portcullis/protocol';
import { formatChallenge } from '@portcullis/protocol/challenge';
import { formatScopes } from '@portcullis/protocol/scopes';

/** An HTTP response in no framework's words. Header names are lowercase. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** What a challenge says of the resource, decided once at birth. */
export interface ChallengeFacts {
  /** Absolute URL of the protected resource metadata; `undefined` when none is published. */
  readonly metadataUrl: string | undefined;
  /** Stands in the challenge when there is no metadata: it needs at least one parameter. */
  readonly realm: string;
  /** What a client should ask for first; empty: the challenge names none. */
  readonly scopes: Scopes;
}

/** A JSON answer that no cache may keep. */
export function answerJson(
  status: number,
  document: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body: JSON.stringify(document),
  };
}

/**
 * 401 for a request that presents no token.
 * If the request lacks any authentication information, the resource server SHOULD NOT include an error code.
 * @see RFC 6750 §3.1, RFC 9728 §5.1
 */
export function challengeAnswer(facts: ChallengeFacts): Answer {
  return answerJson(
    401,
    {
      error_description:
        'This resource needs an access token. Send it in the Authorization header, as Bearer.',
      ...documentedAt(facts),
    },
    { 'www-authenticate': formatChallenge('Bearer', placeOf(facts, facts.scopes)) },
  );
}

/** The answer that an error becomes; 400, 401 and 403 of RFC 6750 carry a challenge. @see RFC 6750 §3 */
export function refusalAnswer(error: OAuthError, facts: ChallengeFacts): Answer {
  const scopes = error.code === 'insufficient_scope' ? (error.scopes ?? []) : facts.scopes;
  const isChallenged = CHALLENGED.has(error.code) && error.status < 404;
  const document = {
    error: error.code,
    error_description: error.description,
    ...(error.code === 'insufficient_scope' && { scope: formatScopes(scopes) }),
    ...(isChallenged && documentedAt(facts)),
  };
  return answerJson(error.status, document, {
    ...(error.retryAfter !== undefined && { 'retry-after': String(error.retryAfter) }),
    ...(isChallenged && { 'www-authenticate': challengeOf(error, facts, scopes) }),
  });
}

/** The codes of RFC 6750 §3.1: they speak of the credentials, so the answer says which are wanted. */
const CHALLENGED: ReadonlySet<string> = new Set(['invalid_request', 'invalid_token', 'insufficient_scope']);

function challengeOf(error: OAuthError, facts: ChallengeFacts, scopes: Scopes): string {
  return formatChallenge('Bearer', {
    error: error.code,
    error_description: withoutAssignments(error.description),
    ...placeOf(facts, scopes),
  });
}

function placeOf(facts: ChallengeFacts, scopes: Scopes): Readonly<Record<string, string | undefined>> {
  return {
    ...(facts.metadataUrl === undefined ? { realm: facts.realm } : { resource_metadata: facts.metadataUrl }),
    scope: scopes.length === 0 ? undefined : formatScopes(scopes),
  };
}

function documentedAt(facts: ChallengeFacts): { resource_metadata?: string } {
  return facts.metadataUrl === undefined ? {} : { resource_metadata: facts.metadataUrl };
}

/** Clients that search the header with a pattern must not find a parameter within a sentence. */
function withoutAssignments(text: string): string {
  return text.replaceAll('=', ':');
}
