/** Sends a token exchange request (RFC 8693) to the authorization server, and interprets the response. */
import {
  jsonMembers,
  type OAuthError,
  readLenientScopes,
  temporarilyUnavailable,
  tokenExchangeForm,
} from '@portcullis/protocol';
import { readTokenExchangeResponse } from '@portcullis/protocol/documents';
import {
  discoverEndpoint,
  type FetchLimits,
  fetchWithoutRedirect,
  parseJsonBody,
  type RemoteResponse,
} from '../verifiers/fetch-json.ts';
import type { createClientAuthentication } from './client-authentication.ts';
import { tokenExchangeError, type UpstreamAccessToken, type UpstreamTokenRequest } from './upstream-token.ts';

/**
 * Exchanges an access token.
 * @param subjectToken the client's token, which is sent only to the server that issued it
 * @throws OAuthError see `tokenExchangeError`
 */
export type TokenExchange = (
  subjectToken: string,
  want: UpstreamTokenRequest,
) => Promise<UpstreamAccessToken>;

export interface TokenExchangeSettings {
  readonly issuer: string;
  /** From the issuer's metadata if `null`. */
  readonly endpoint: string | null;
  readonly remote: FetchLimits;
  readonly prove: ReturnType<typeof createClientAuthentication>;
  /** Epoch seconds. */
  readonly clock: () => number;
}

/** Status codes by which a server no longer has a token endpoint at a URL: its metadata may name another. */
const MOVED: readonly number[] = [404, 405, 410];

/** Creates a token exchange. @see RFC 8693 §2 */
export function createTokenExchange({
  issuer,
  endpoint,
  remote,
  prove,
  clock,
}: TokenExchangeSettings): TokenExchange {
  /** The endpoint in use; `null`: to be found again. */
  let found: string | null = endpoint;
  return async (subjectToken, { identityProvider = null, scopes = [] }) => {
    const response = await send(subjectToken, { audience: identityProvider, scopes }).catch(
      (error: unknown) => {
        found = endpoint;
        throw temporarilyUnavailable('the token endpoint cannot be reached', undefined, error);
      },
    );
    if (endpoint === null && MOVED.includes(response.status)) {
      found = null;
      throw temporarilyUnavailable(`status ${response.status}: the token endpoint has moved`);
    }
    const body = parse(response);
    if (response.status !== 200) throw toExchangeError(response, body);
    return toUpstreamToken(body, scopes, clock());
  };

  async function send(
    subjectToken: string,
    target: Pick<Parameters<typeof tokenExchangeForm>[0], 'audience' | 'scopes'>,
  ): Promise<RemoteResponse> {
    const url = found ?? (await discoverEndpoint(issuer, 'token_endpoint', remote));
    found = url;
    const { parameters, headers } = await prove();
    const form = tokenExchangeForm({ subjectToken, ...target });
    for (const [name, value] of Object.entries(parameters)) form.set(name, value);
    const init = {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    };
    return fetchWithoutRedirect(url, remote, init, true);
  }
}

/** Parses JSON; `null` for anything else in UTF-8. @throws OAuthError `temporarily_unavailable` for a damaged text */
function parse(response: RemoteResponse): unknown {
  try {
    return parseJsonBody(response);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw temporarilyUnavailable('the response of the token endpoint is not UTF-8', undefined, error);
  }
}

/** If `scope` is omitted, the token has the requested scopes. @see RFC 8693 §2.2.1 */
function toUpstreamToken(json: unknown, wanted: readonly string[], now: number): UpstreamAccessToken {
  const reading = readTokenExchangeResponse(json);
  if ('issues' in reading) throw tokenExchangeError(reading.issues.join('; '));
  const { access_token: accessToken, token_type: tokenType, expires_in: lifetime, scope } = reading.document;
  return Object.freeze({
    accessToken,
    tokenType,
    expiresAt: lifetime === undefined ? null : now + lifetime,
    scopes: Object.freeze(scope === undefined ? wanted : readLenientScopes(scope)),
  });
}

/** The maximum of `retryAfter`, in seconds. */
const LONGEST_WAIT = 60;

function toExchangeError({ status, headers }: RemoteResponse, json: unknown): OAuthError {
  const { error } = jsonMembers(json);
  const isOutage = status === 429 || status >= 500;
  const wait = Number(headers.get('retry-after') ?? Number.NaN);
  const retryAfter = wait >= 1 ? Math.min(Math.ceil(wait), LONGEST_WAIT) : undefined;
  if (isOutage) return tokenExchangeError('temporarily_unavailable', retryAfter);
  return tokenExchangeError(typeof error === 'string' ? error : `status ${status}`);
}
