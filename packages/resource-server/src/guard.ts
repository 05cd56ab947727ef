/** The guard: admits a request to a protected server, or answers it itself. */
import type { Scopes } from '@portcullis/protocol';
import { OAuthError } from '@portcullis/protocol/errors';
import { type Answer, answerJson } from './answers.ts';
import { checkCertificate } from './certificates.ts';
import {
  type Configuration,
  defineConfiguration,
  type GuardOptions,
  type ProtectedResource,
} from './configuration.ts';
import { createPossession } from './dpop/possession.ts';
import type { Facts } from './facts.ts';
import { createMetadataRoom, foreignMetadataAnswer } from './metadata.ts';
import { neededScopes, scopesAtOnce } from './needed-scopes.ts';
import { preflightAnswer } from './origins.ts';
import { createRefusals, isPresent, pageHeaders } from './refusals.ts';
import { type Admitted, checkLive, createStandings, type Standing, standingOf } from './standing.ts';
import { createWatch, type Watch } from './streams.ts';
import { findProtectedResource, hasQueryToken, isWithin, pathOf } from './target.ts';

export type { Facts } from './facts.ts';

/** Either the request may pass, with headers for the application's response, or here is its answer. */
export type Admission = Admitted | { readonly admitted: false; readonly answer: Answer };

/** What stands before the protected servers of one configuration. Adapters put it into the words of a framework. */
export interface Guard {
  /** The canonical URIs of the resources that it protects. */
  readonly resources: readonly string[];
  /** Answers what needs no token, metadata and preflights of its resources; `null` for every other request. */
  answer(facts: Facts): Answer | null;
  /**
   * Judges a request, whatever its path: metadata and preflights are answered too. At once where nothing has to be
   * waited for, as with a token seen before; neither throws nor rejects.
   */
  admit(facts: Facts): Admission | Promise<Admission>;
  /**
   * The answer for an error of the application: an `OAuthError`, such as `insufficient_scope` found out late, becomes a
   * challenge; anything else 500 without details.
   */
  refuse(error: unknown, facts: Facts): Answer;
  /**
   * Ends streams with their token. Adapters have event streams watched over; whoever keeps something else open, such as
   * a socket, does it here. `null` where `streams` is `false`.
   */
  readonly watch: Watch | null;
}

/**
 * Creates a guard.
 * @throws ConfigurationError with every fault of the options.
 */
export function createGuard(options: GuardOptions): Guard {
  const configuration = defineConfiguration(options);
  const { resources, origins, bodyLimit, certificates } = configuration;
  const serveMetadata = createMetadataRoom(resources.flatMap(({ document }) => document ?? []));
  const standings = createStandings(configuration);
  const possession = configuration.dpop && createPossession(configuration.dpop, configuration.clock);
  const { refuse, refuseStranger, challenge } = createRefusals(configuration);
  const watch = createWatch(configuration.streams, configuration, standings);

  function answer(facts: Facts): Answer | null {
    const path = pathOf(facts.url);
    const document = serveMetadata(facts.method, path);
    if (document !== null || !isPreflight(facts)) return document;
    return resources.some((resource) => isWithin(resource, path))
      ? preflightAnswer(origins, facts.origin)
      : null;
  }

  /** Whatever was handed to the guard for judgement is its own, so every preflight is. */
  function answerAtOnce(path: string, facts: Facts): Answer | null {
    const document = serveMetadata(facts.method, path) ?? foreignMetadataAnswer(path);
    if (document !== null) return document;
    return isPreflight(facts) ? preflightAnswer(origins, facts.origin) : refuseStranger(facts);
  }

  // In this order: preflight, origin, token, scopes. Version, method and body are the application's to judge.
  function admit(facts: Facts): Admission | Promise<Admission> {
    try {
      const path = pathOf(facts.url);
      const given = answerAtOnce(path, facts);
      if (given !== null) return { admitted: false, answer: given };
      const resource = findProtectedResource(resources, path);
      if (resource === null) return { admitted: false, answer: NOT_FOUND };
      checkTransports(facts);
      const known = admittedBefore(resource, facts);
      const standing = known ?? standings.resolve(resource, facts.authorization);
      if (standing === null) return { admitted: false, answer: challenge(resource, facts) };
      if (standing instanceof Promise || mustWait(resource, standing, facts)) {
        return admitLater(resource, standing, facts, known !== null);
      }
      // The usual request: its token was seen before, and nobody has to be asked anything.
      checkScopes(configuration, standing, scopesAtOnce(resource, facts.scopes));
      if (!isPresent(facts.origin)) return standing.admission;
      return { admitted: true, principal: standing.principal, headers: pageHeaders(origins, facts) };
    } catch (error) {
      return possession === null
        ? { admitted: false, answer: refuse(error, facts) }
        : refuseLater(error, facts);
    }
  }

  async function admitLater(
    resource: ProtectedResource,
    found: Standing | Promise<Standing>,
    facts: Facts,
    isProven: boolean,
  ): Promise<Admission> {
    try {
      const standing = await found;
      if (!isProven) await prove(resource, standing, facts);
      checkScopes(configuration, standing, await neededScopes(resource, facts.scopes, facts.body, bodyLimit));
      const headers = pageHeaders(origins, facts);
      const isNonceDue = typeof standing.binding?.key === 'string' && possession !== null;
      return {
        admitted: true,
        principal: standing.principal,
        headers: isNonceDue ? await possession.addNonce(headers) : headers,
      };
    } catch (error) {
      return refuseLater(error, facts);
    }
  }

  /** What no memory can know: whether the token still stands, and whether the key that it is bound to is there. */
  async function prove(resource: ProtectedResource, standing: Standing, facts: Facts): Promise<void> {
    if (resource.verifier.isLive !== undefined) await checkLive(resource, standing.claims);
    const { token, binding } = standing;
    if (binding === null) return;
    if (binding.certificate !== null && certificates !== null)
      await checkCertificate(binding.certificate, certificates, facts);
    if (binding.key !== null) await possession?.check({ token, thumbprint: binding.key }, resource, facts);
  }

  async function refuseLater(error: unknown, facts: Facts): Promise<Admission> {
    const refusal = refuse(error, facts);
    return {
      admitted: false,
      answer: possession === null ? refusal : await possession.withNonce(refusal, error),
    };
  }

  return { resources: resources.map(({ resource }) => resource), answer, admit, refuse, watch };
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
  { body }: Facts,
): boolean {
  const isAsked = verifier.isLive !== undefined && verifier.isLiveNow?.(claims) !== true;
  return isAsked || binding !== null || (scopesFor !== null && body !== undefined);
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

/** @see Fetch §3.3.2 */
function isPreflight(facts: Facts): facts is Facts & { readonly origin: string } {
  return facts.method === 'OPTIONS' && isPresent(facts.requestedMethod) && isPresent(facts.origin);
}

const NOT_FOUND: Answer = answerJson(404, {
  error: 'not_found',
  error_description: 'No protected resource stands at this path.',
});
