/** Asking a token endpoint: client authentication, proof of possession with its nonces, and what each refusal means. */

import { createDpopProof } from '../dpop/proof.ts';
import { ClientError, resourceAdvice, sanitizeText } from '../errors.ts';
import type { PrivateEcJwk } from '../jwk.ts';
import type { Registration } from '../registration/registration.ts';
import {
  checkNotRedirected,
  type OAuthRequest,
  type OAuthResponse,
  parseJsonOrUndefined,
  postRequest,
  readRetryAfter,
  sendRequest,
  type Transport,
} from '../transport.ts';
import { authenticateToServer } from './client-authentication.ts';
import type { ClientContext } from './client-context.ts';

/** What every token request works with. */
export interface TokenEndpointContext extends ClientContext {
  readonly transport: Transport;
  /** Milliseconds. */
  readonly sleep: (milliseconds: number) => Promise<void>;
}

/** A form for an endpoint at which the client proves itself. */
export interface EndpointRequest {
  readonly endpoint: string;
  readonly issuer: string;
  readonly registration: Registration;
  readonly form: URLSearchParams;
  /** The key that the token is to be bound to; `null`: a bearer token. */
  readonly dpopKey: PrivateEcJwk | null;
}

/** `again`: the server wants its nonce in the proof, and the same is to be asked once more. */
export type EndpointResult =
  | { readonly kind: 'granted'; readonly json: unknown }
  | { readonly kind: 'again' };

/**
 * Sends one request; a nonce that the server asks for is given in a second one.
 * @returns the JSON of the successful answer
 * @throws ClientError `token_refused` with the OAuth error code, or an outage.
 */
export async function requestJson(hands: TokenEndpointContext, request: EndpointRequest): Promise<unknown> {
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const answer = await sendRequest(hands.transport, await authenticatedRequest(hands, request));
    const understood = processEndpointResponse(hands, request, answer);
    if (understood.kind === 'granted') return understood.json;
  }
  throw new ClientError(
    'token_refused',
    `${new URL(request.endpoint).origin} asks for one nonce after another.`,
    { oauthError: 'use_dpop_nonce' },
  );
}

/**
 * Writes one request with the client's proof, and the key's.
 * @throws ClientError `insecure_url`, or `configuration_invalid` when a secret or key is missing
 */
export async function authenticatedRequest(
  prover: ClientContext,
  request: EndpointRequest,
): Promise<OAuthRequest> {
  const { endpoint, issuer, registration, form, dpopKey } = request;
  const { clock, createJti: identifier } = prover;
  const signingKey = prover.signingKeyFor(registration.clientId);
  const proof = await authenticateToServer(registration, { issuer, signingKey, clock, identifier });
  const body = new URLSearchParams(form);
  for (const [name, value] of Object.entries(proof.parameters)) body.set(name, value);
  const subject = {
    method: 'POST',
    url: endpoint,
    accessToken: null,
    nonce: prover.dpopNonces.find(endpoint),
  };
  const bound = dpopKey !== null && {
    dpop: await createDpopProof(dpopKey, { ...subject, now: clock(), identifier: identifier() }),
  };
  return postRequest(endpoint, 'form', body.toString(), { ...proof.headers, ...bound });
}

/**
 * Understands the answer.
 * @throws ClientError `token_refused` with the OAuth error code, or an outage.
 */
export function processEndpointResponse(
  prover: ClientContext,
  request: EndpointRequest,
  answer: OAuthResponse,
): EndpointResult {
  const { endpoint, dpopKey } = request;
  checkNotRedirected({ url: endpoint }, answer);
  const isNew = prover.dpopNonces.keep(endpoint, answer.headers);
  if (isNew && dpopKey !== null && errorOf(answer) === 'use_dpop_nonce') return { kind: 'again' };
  if (answer.status >= 200 && answer.status < 300)
    return { kind: 'granted', json: parseJsonOrUndefined(answer.body) };
  throw refusalOf(new URL(endpoint).origin, answer, prover.clock());
}

/** The JSON of an answer to a request that is bound to no key, so that no nonce can be wanted. */
export function grantedBy(prover: ClientContext, request: EndpointRequest, answer: OAuthResponse): unknown {
  const understood = processEndpointResponse(prover, request, answer);
  return understood.kind === 'granted' ? understood.json : undefined;
}

/** Statuses that say "not now". */
const NOT_NOW: ReadonlySet<number> = new Set([408, 425, 429]);

function refusalOf(origin: string, answer: OAuthResponse, now: number): ClientError {
  const { status } = answer;
  const retryAfter = readRetryAfter(answer.headers, now);
  if (status >= 500 || NOT_NOW.has(status)) {
    const what = `The token endpoint of ${origin} answered with status ${status}.`;
    return new ClientError('temporarily_unavailable', what, { status, retryAfter });
  }
  const oauthError = errorOf(answer);
  if (oauthError === 'temporarily_unavailable') {
    const what = `${origin} cannot issue tokens now.`;
    return new ClientError('temporarily_unavailable', what, { status, oauthError, retryAfter });
  }
  const description = member(answer, 'error_description');
  const said = [oauthError, description].filter((part) => part !== undefined).join(': ');
  const what = `${origin} refused to issue a token (${said || `status ${status}`}).${resourceAdvice(oauthError, description)}`;
  return new ClientError('token_refused', what, { status, oauthError });
}

function errorOf(answer: OAuthResponse): string | undefined {
  return member(answer, 'error');
}

function member(answer: OAuthResponse, name: string): string | undefined {
  const json = parseJsonOrUndefined(answer.body);
  if (typeof json !== 'object' || json === null) return undefined;
  const value = (json as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' && value !== '' ? sanitizeText(value) : undefined;
}
