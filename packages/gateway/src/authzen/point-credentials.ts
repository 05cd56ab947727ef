/** What authenticates this server to the decision point: a fixed header, or an access token that is obtained when it is needed. */
import type { Tokens } from '@portcullis/client';
import {
  authenticatedRequest,
  createClientContext,
  isStale,
  processTokenResponse,
  type TokenRequest,
} from '@portcullis/client/steps';
import type { OutboundFetch } from '@portcullis/http/outbound';
import { formatScopes } from '@portcullis/protocol';
import type { ApplicationCredentials, PointCredentials } from './options.ts';

type Headers = Readonly<Record<string, string>>;

export interface PointAuthentication {
  /** @throws ClientError, OutboundError */
  headers(): Headers | Promise<Headers>;
  /** The decision point rejected the headers. @returns whether others can be obtained */
  rejected(): boolean;
}

/** @param clock epoch milliseconds */
export function createPointAuthentication(
  credentials: PointCredentials,
  fetch: OutboundFetch,
  clock: () => number,
): PointAuthentication {
  if (credentials.as === 'application') return createApplicationAuthentication(credentials, fetch, clock);
  const fixed = credentials.as === 'header' ? { [credentials.name]: credentials.value } : {};
  return { headers: () => fixed, rejected: () => false };
}

/** @see RFC 6749 §4.4 */
function createApplicationAuthentication(
  credentials: ApplicationCredentials,
  fetch: OutboundFetch,
  clock: () => number,
): PointAuthentication {
  let current: Promise<Tokens> | null = null;

  function obtain(): Promise<Tokens> {
    const obtaining = requestToken(credentials, fetch, clock);
    current = obtaining;
    obtaining.catch(() => {
      if (current === obtaining) current = null;
    });
    return obtaining;
  }

  return {
    async headers() {
      const known = await (current ?? obtain());
      const { accessToken } = isStale(known, Math.floor(clock() / 1000)) ? await obtain() : known;
      return { authorization: `Bearer ${accessToken}` };
    },
    rejected() {
      current = null;
      return true;
    },
  };
}

async function requestToken(
  { tokenEndpoint, clientId, clientSecret, scopes }: ApplicationCredentials,
  fetch: OutboundFetch,
  clock: () => number,
): Promise<Tokens> {
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (scopes.length > 0) form.set('scope', formatScopes(scopes));
  const context = createClientContext({ clock, signingKeyFor: () => null });
  const request: TokenRequest = {
    endpoint: tokenEndpoint,
    issuer: tokenEndpoint,
    registration: {
      method: 'preregistered',
      clientId,
      clientSecret,
      authentication: 'client_secret_basic',
      redirectUris: [],
      secretExpiresAt: null,
    },
    form,
    dpopKey: null,
    expected: { requestedScopes: scopes, resource: null, refreshToken: null, scopes: null },
  };
  const { url, method, headers, body } = await authenticatedRequest(context, request);
  const response = await fetch(url, { method, headers, body: body ?? null, redirect: 'manual' });
  const { status } = response;
  const text = await response.text();
  const result = processTokenResponse(context, request, { status, headers: response.headers, body: text });
  if (result.kind !== 'tokens') throw new TypeError('its authorization server demands DPoP');
  return result.tokens;
}
