/** What authenticates this server to the decision point: a fixed header, or an access token that is obtained when it is needed. */
import type { Tokens } from '@portcullis/client';
import { isStale } from '@portcullis/client/steps';
import type { OutboundFetch } from '@portcullis/http/outbound';
import { grantForm } from '@portcullis/protocol';
import { requestTokensAt } from '../credentials/token-request.ts';
import type { ApplicationCredentials, PointCredentials } from './options.ts';

type Headers = Readonly<Record<string, string>>;

export interface PointAuthentication {
  /** @throws ClientError, OutboundError */
  headers(): Headers | Promise<Headers>;
  /** The decision point rejected these headers. @returns whether others can be obtained */
  rejected(headers: Headers): boolean;
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

interface Obtained {
  readonly tokens: Tokens;
  readonly headers: Headers;
}

/** Concurrent requests share one token request. @see RFC 6749 §4.4 */
function createApplicationAuthentication(
  { tokenEndpoint, clientId, clientSecret, scopes }: ApplicationCredentials,
  fetch: OutboundFetch,
  clock: () => number,
): PointAuthentication {
  let current: Obtained | null = null;
  let pending: Promise<Obtained> | null = null;

  async function obtain(): Promise<Obtained> {
    const { tokens } = await requestTokensAt(
      fetch,
      {
        endpoint: tokenEndpoint,
        issuer: tokenEndpoint,
        client: { clientId, clientSecret },
        form: grantForm({ grant_type: 'client_credentials' }, { resource: null, scopes }),
        ...{ scopes, resource: null },
      },
      clock,
    );
    current = { tokens, headers: { authorization: `Bearer ${tokens.accessToken}` } };
    return current;
  }

  function find(): Obtained | Promise<Obtained> {
    if (current !== null && !isStale(current.tokens, clock())) return current;
    pending ??= obtain().finally(() => {
      pending = null;
    });
    return pending;
  }

  return {
    headers: async () => (await find()).headers,
    rejected(headers) {
      // A concurrent request may have replaced them already.
      if (current?.headers === headers) current = null;
      return true;
    },
  };
}
