/** Asking a token endpoint: client authentication, proof of possession with its nonces, and what each refusal means. */

import type { Nonces } from '../dpop/nonces.ts';
import { createProof } from '../dpop/proof.ts';
import { ClientError, displayText } from '../errors.ts';
import type { Registration } from '../registration/registration.ts';
import { type Answer, exchange, parseJson, readRetryAfter, type Wire } from '../transport.ts';
import { proveClient } from './client-authentication.ts';
import type { EllipticJwk } from './jwk.ts';
import type { SigningKey } from './signing-key.ts';

/** What every token request works with. */
export interface TokenHands {
  readonly wire: Wire;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** A text never returned before. */
  readonly identifier: () => string;
  readonly nonces: Nonces;
  /** Milliseconds. */
  readonly sleep: (milliseconds: number) => Promise<void>;
  /** The signing key of a configured client; `null` when it has none. */
  readonly signingKeyOf: (clientId: string) => SigningKey | null;
}

export interface TokenRequest {
  readonly endpoint: string;
  readonly issuer: string;
  readonly registration: Registration;
  readonly form: URLSearchParams;
  /** The key that the token is to be bound to; `null`: a bearer token. */
  readonly dpopKey: EllipticJwk | null;
}

/**
 * Sends one token request; a nonce that the server asks for is given in a second one.
 * @returns the JSON of the successful answer
 * @throws ClientError `token_refused` with the OAuth error code, or an outage.
 */
export async function requestToken(hands: TokenHands, request: TokenRequest): Promise<unknown> {
  const first = await send(hands, request);
  const isNew = hands.nonces.keep(request.endpoint, first.headers);
  const again = isNew && request.dpopKey !== null && errorOf(first) === 'use_dpop_nonce';
  const answer = again ? await send(hands, request) : first;
  if (again) hands.nonces.keep(request.endpoint, answer.headers);
  return understand(hands, request, answer);
}

async function send(
  hands: TokenHands,
  { endpoint, issuer, registration, form, dpopKey }: TokenRequest,
): Promise<Answer> {
  const proof = await proveClient(registration, {
    issuer,
    signingKey: hands.signingKeyOf(registration.clientId),
    clock: hands.clock,
    identifier: hands.identifier,
  });
  const body = new URLSearchParams(form);
  for (const [name, value] of Object.entries(proof.parameters)) body.set(name, value);
  const headers: Record<string, string> = {
    'content-type': 'application/x-www-form-urlencoded',
    ...proof.headers,
  };
  if (dpopKey !== null) {
    headers['dpop'] = await createProof(dpopKey, {
      method: 'POST',
      url: endpoint,
      accessToken: null,
      nonce: hands.nonces.find(endpoint),
      now: hands.clock(),
      identifier: hands.identifier(),
    });
  }
  return exchange(hands.wire, endpoint, { method: 'POST', headers, body: body.toString() });
}

function understand(hands: TokenHands, { endpoint }: TokenRequest, answer: Answer): unknown {
  const { origin } = new URL(endpoint);
  if (answer.status >= 200 && answer.status < 300) return parseJson(answer.body);
  const retryAfter = readRetryAfter(answer.headers, hands.clock());
  const { status } = answer;
  if (status >= 500 || [408, 425, 429].includes(status)) {
    throw new ClientError(
      'temporarily_unavailable',
      `The token endpoint of ${origin} answered with status ${status}.`,
      {
        status,
        retryAfter,
      },
    );
  }
  const oauthError = errorOf(answer);
  if (oauthError === 'temporarily_unavailable') {
    throw new ClientError('temporarily_unavailable', `${origin} cannot issue tokens now.`, {
      status,
      oauthError,
      retryAfter,
    });
  }
  const description = member(answer, 'error_description');
  const said = [oauthError, description].filter((part) => part !== undefined).join(': ');
  throw new ClientError(
    'token_refused',
    `${origin} refused to issue a token (${said || `status ${status}`}).`,
    {
      status,
      oauthError,
    },
  );
}

function errorOf(answer: Answer): string | undefined {
  return member(answer, 'error');
}

function member(answer: Answer, name: string): string | undefined {
  const json = parseJson(answer.body);
  if (typeof json !== 'object' || json === null) return undefined;
  const value = (json as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' && value !== '' ? displayText(value) : undefined;
}
