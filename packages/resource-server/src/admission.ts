/** The judgement of one request: from its facts to a principal, or to the answer that it gets instead. */
import { OAuthError, type Scopes } from '@portcullis/protocol/protected-resource';
import { answerJson, type GuardAnswer } from './answers.ts';
import { checkCertificate } from './certificates.ts';
import type { Configuration, ProtectedResource } from './configuration.ts';
import type { Possession } from './dpop/possession.ts';
import type { Facts } from './facts.ts';
import { neededScopes, scopesAtOnce } from './needed-scopes.ts';
import type { PublicAnswers } from './public-answers.ts';
import { isPresent, pageHeaders, type Refusals } from './refusals.ts';
import { type Admitted, checkLive, type Standing, type Standings, standingOf } from './standing.ts';
import { findProtectedResource, hasQueryToken, pathOf } from './target.ts';

/** Either the request may pass, with headers for the application's response, or here is its answer. */
export type Admission = Admitted | { readonly admitted: false; readonly answer: GuardAnswer };

/** Who is asked about a request. */
export interface Judges {
  readonly configuration: Configuration;
  readonly standings: Standings;
  /** `null` where no token is taken that is bound to a key. */
  readonly possession: Possession | null;
  readonly refusals: Refusals;
  readonly publicAnswers: PublicAnswers;
}

/**
 * Judges a request, in this order: preflight, origin, token, scopes. Version, method and body are the application's to
 * judge. At once where nothing has to be waited for; neither throws nor rejects.
 */
export function admit(judges: Judges, facts: Facts): Admission | Promise<Admission> {
  try {
    return judgeAtOnce(judges, facts);
  } catch (error) {
    return judges.possession === null
      ? { admitted: false, answer: judges.refusals.refuse(error, facts) }
      : refuseLater(judges, error, facts);
  }
}

function judgeAtOnce(judges: Judges, facts: Facts): Admission | Promise<Admission> {
  const { configuration, standings, refusals, publicAnswers } = judges;
  const path = pathOf(facts.url);
  const given = publicAnswers.answerAtOnce(path, facts);
  if (given !== null) return { admitted: false, answer: given };
  const resource = findProtectedResource(configuration.resources, path);
  if (resource === null) return { admitted: false, answer: NOT_FOUND };
  checkTransports(facts);
  const known = admittedBefore(resource, facts);
  const standing = known ?? standings.resolve(resource, facts.authorization);
  if (standing === null) return { admitted: false, answer: refusals.challenge(resource, facts) };
  if (standing instanceof Promise || mustWait(resource, standing, facts)) {
    return admitLater(judges, { resource, found: standing, isProven: known !== null }, facts);
  }
  // The usual request: its token was seen before, and nobody has to be asked anything.
  checkScopes(configuration, standing, scopesAtOnce(resource, facts.scopes));
  if (!isPresent(facts.origin)) return standing.admission;
  const headers = pageHeaders(configuration.origins, facts);
  return { admitted: true, principal: standing.principal, headers };
}

/** What is known of a token when the rest has to be waited for. */
interface Presented {
  readonly resource: ProtectedResource;
  readonly found: Standing | Promise<Standing>;
  /** Whether the same request was admitted before with it. */
  readonly isProven: boolean;
}

async function admitLater(
  judges: Judges,
  { resource, found, isProven }: Presented,
  facts: Facts,
): Promise<Admission> {
  const { configuration, possession } = judges;
  try {
    const standing = await found;
    if (!isProven) await prove(judges, resource, standing, facts);
    const needed = await neededScopes(resource, facts.scopes, facts.body, configuration.bodyLimit);
    checkScopes(configuration, standing, needed);
    const headers = pageHeaders(configuration.origins, facts);
    const isNonceDue = typeof standing.binding?.key === 'string' && possession !== null;
    return {
      admitted: true,
      principal: standing.principal,
      headers: isNonceDue ? await possession.addNonce(headers) : headers,
    };
  } catch (error) {
    return refuseLater(judges, error, facts);
  }
}

/** What no memory can know: whether the token still stands, and whether the key that it is bound to is there. */
async function prove(
  { configuration: { certificates }, possession }: Judges,
  resource: ProtectedResource,
  { token, binding, claims }: Standing,
  facts: Facts,
): Promise<void> {
  if (resource.verifier.isLive !== undefined) await checkLive(resource, claims);
  if (binding === null) return;
  if (binding.certificate !== null && certificates !== null)
    await checkCertificate(binding.certificate, certificates, facts);
  if (binding.key !== null) await possession?.check({ token, thumbprint: binding.key }, resource, facts);
}

async function refuseLater(
  { refusals, possession }: Judges,
  error: unknown,
  facts: Facts,
): Promise<Admission> {
  const refusal = refusals.refuse(error, facts);
  return {
    admitted: false,
    answer: possession === null ? refusal : await possession.withNonce(refusal, error),
  };
}

/** What stands behind the same request already, where a route asks for more than the guard before it. */
function admittedBefore(resource: ProtectedResource, { principal }: Facts): Standing | null {
  const standing = principal === undefined ? undefined : standingOf(principal);
  return standing?.resource === resource ? standing : null;
}

/** Whether somebody has to be asked before the request can be judged, or its body has to be read. */
function mustWait(
  { verifier, scopesFor }: ProtectedResource,
  { binding, claims }: Standing,
  facts: Facts,
): boolean {
  const isAsked = verifier.isLive !== undefined && verifier.isLiveNow?.(claims) !== true;
  return isAsked || binding !== null || (scopesFor !== null && facts.body !== undefined);
}

/** A request MUST NOT present its token in more than one way. @see RFC 6750 §2 */
function checkTransports({ authorization, url }: Facts): void {
  if (isPresent(authorization) && hasQueryToken(url)) {
    throw new OAuthError('invalid_request', 'Send the access token in the Authorization header alone.', {
      reason: 'token in header and query',
    });
  }
}

/** @throws OAuthError `insufficient_scope` that names every scope that the operation needs. */
function checkScopes({ events }: Configuration, { principal, held }: Standing, needed: Scopes): void {
  if (holdsAll(held, needed)) return;
  const { resource, issuer, subject, clientId, grantId, claims, scopes: granted } = principal;
  const about = { resource, issuer, subject, clientId, grantId, tokenId: String(claims['jti']) };
  events({ type: 'scopes.missing', ...about, needed, granted });
  throw new OAuthError('insufficient_scope', 'The access token does not carry the scopes that this needs.', {
    scopes: needed,
    reason: 'scopes are missing',
  });
}

function holdsAll(held: ReadonlySet<string>, needed: Scopes): boolean {
  for (const scope of needed) if (!held.has(scope)) return false;
  return true;
}

const NOT_FOUND: GuardAnswer = answerJson(404, {
  error: 'not_found',
  error_description: 'No protected resource stands at this path.',
});
