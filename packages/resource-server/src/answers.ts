/** Answers that a guard gives itself: refusals with their challenge, documents, preflights. */
import {
  type BearerChallenge,
  formatBearerChallenge,
  formatChallenge,
  formatScopes,
  isScope,
  type OAuthError,
  type Scopes,
} from '@portcullis/protocol/protected-resource';

/** An HTTP response in no framework's words. Header names are lowercase. */
export interface GuardAnswer {
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
  /** Schemes that carry a token here. */
  readonly bearer: boolean;
  /** What proofs may be signed with; `null` when tokens bound to a key are not taken. */
  readonly proofAlgorithms: string | null;
}

/** How a request presented its token, or tried to: that scheme is challenged. */
export type Scheme = 'Bearer' | 'DPoP';

/** A JSON answer that no cache may keep. */
export function answerJson(
  status: number,
  document: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): GuardAnswer {
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
export function challengeAnswer(facts: ChallengeFacts): GuardAnswer {
  const place = placeOf(facts, facts.scopes);
  const scheme = facts.bearer ? 'Bearer' : 'DPoP';
  // Many clients read the first challenge alone.
  const challenges = facts.bearer
    ? [formatBearerChallenge(place), ...(facts.proofAlgorithms === null ? [] : [dpopChallenge(facts, {})])]
    : [dpopChallenge(facts, place)];
  return answerJson(
    401,
    {
      error_description: `This resource needs an access token. Send it in the Authorization header, as ${scheme}.`,
      ...documentedAt(facts),
    },
    { 'www-authenticate': challenges.join(', ') },
  );
}

/**
 * The answer that an error becomes; 400, 401 and 403 that speak of the credentials carry a challenge.
 * @see RFC 6750 §3, RFC 9449 §7.1
 */
export function refusalAnswer(error: OAuthError, facts: ChallengeFacts, scheme: Scheme): GuardAnswer {
  const scopes = error.code === 'insufficient_scope' ? (error.scopes ?? []).filter(isScope) : facts.scopes;
  const isChallenged = CHALLENGED.has(error.code) && error.status < 404;
  const document = {
    error: error.code,
    error_description: error.description,
    ...(error.code === 'insufficient_scope' && { scope: formatScopes(scopes) }),
    ...(isChallenged && documentedAt(facts)),
  };
  return answerJson(error.status, document, {
    ...(error.retryAfter !== undefined && { 'retry-after': String(error.retryAfter) }),
    ...(isChallenged && { 'www-authenticate': challengeOf(error, facts, scopes, scheme) }),
  });
}

/** The codes that speak of the credentials, so that the answer says which are wanted. */
const CHALLENGED: ReadonlySet<string> = new Set([
  'invalid_request',
  'invalid_token',
  'insufficient_scope',
  'invalid_dpop_proof',
  'use_dpop_nonce',
]);

function challengeOf(error: OAuthError, facts: ChallengeFacts, scopes: Scopes, scheme: Scheme): string {
  const challenge = {
    error: error.code,
    error_description: error.description.replaceAll('=', ' '),
    ...placeOf(facts, scopes),
  };
  return scheme === 'Bearer' ? formatBearerChallenge(challenge) : dpopChallenge(facts, challenge);
}

function dpopChallenge({ proofAlgorithms }: ChallengeFacts, challenge: BearerChallenge): string {
  return formatChallenge('DPoP', { ...challenge, algs: proofAlgorithms ?? undefined });
}

function placeOf(facts: ChallengeFacts, scopes: Scopes): BearerChallenge {
  return {
    ...(facts.metadataUrl === undefined ? { realm: facts.realm } : { resource_metadata: facts.metadataUrl }),
    scope: scopes.length === 0 ? undefined : formatScopes(scopes),
  };
}

function documentedAt(facts: ChallengeFacts): { resource_metadata?: string } {
  return facts.metadataUrl === undefined ? {} : { resource_metadata: facts.metadataUrl };
}
