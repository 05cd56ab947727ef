/** Response formats of providers that deviate from the standard, translated into it. */
import { isMembers, type JsonFields, parseStrictJson } from '@portcullis/http';
import { intersectScopes, type Scopes } from '@portcullis/protocol';
import type { PlainProvider } from './options.ts';

export interface ResponseFormat {
  /** The parameters that request scopes. */
  scopeParameters(scopes: Scopes): Readonly<Record<string, string>>;
  /** Translates status and JSON of a token response. */
  readToken(status: number, body: JsonFields): { readonly status: number; readonly body: JsonFields };
  /** Translates status and JSON of a userinfo response. */
  readUser(status: number, body: JsonFields): { readonly status: number; readonly body: JsonFields };
  /** How a token is revoked; `null`: with RFC 7009. */
  readonly revocation: RevocationRequestFormat | null;
  /** Whether the token is revoked, now or before, by status and JSON of the response. */
  isRevoked(status: number, body: unknown): boolean;
}

/** A request that revokes an access token. */
export type RevocationRequestFormat = (
  token: string,
  clientId: string,
) => {
  readonly method: 'POST' | 'DELETE';
  /** Appended to the revocation endpoint. */
  readonly path: string;
  readonly body: JsonFields | null;
  /** Whether the client or the token authenticates the request. */
  readonly proof: 'client' | 'token';
};

/** A token response without its ID token. */
export const withoutIdToken: ResponseFormat['readToken'] = (status, { id_token: _unread, ...body }) => ({
  status,
  body,
});

const standard: ResponseFormat = {
  scopeParameters: (scopes) => (scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
  // An ID token proves nothing if the provider is not an OpenID Connect provider.
  readToken: withoutIdToken,
  readUser: (status, body) => ({ status, body }),
  revocation: null,
  isRevoked: (status) => status >= 200 && status < 300,
};

/**
 * Token errors have status 200, scopes are separated by commas, and tokens are deleted at a URL that names the application.
 * @see https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
 * @see https://docs.github.com/en/rest/apps/oauth-applications#delete-an-app-token
 */
const github: ResponseFormat = {
  ...standard,
  readToken: (status, body) => {
    const { scope, expires_in: expiresIn, ...rest } = standard.readToken(status, body).body;
    if (status === 200 && typeof body['error'] === 'string') {
      return { status: 400, body: { ...body, error: githubErrors[body['error']] ?? body['error'] } };
    }
    return {
      status,
      body: {
        ...rest,
        ...(typeof scope === 'string' && {
          scope: scope
            .split(/[\s,]+/)
            .filter((one) => one !== '')
            .join(' '),
        }),
        ...(expiresIn !== undefined && { expires_in: expiresIn }),
      },
    };
  },
  revocation: (token, clientId) => ({
    method: 'DELETE',
    path: `/${encodeURIComponent(clientId)}/token`,
    body: { access_token: token },
    proof: 'client',
  }),
  // An unknown token is revoked already.
  isRevoked: (status, body) => standard.isRevoked(status, body) || status === 404 || status === 422,
};

/** GitHub's error codes and the standard ones. */
const githubErrors: Readonly<Record<string, string>> = {
  bad_verification_code: 'invalid_grant',
  bad_refresh_token: 'invalid_grant',
  incorrect_client_credentials: 'invalid_client',
};

/**
 * Every response has status 200 and `ok`; the user's tokens are in `authed_user`, and user scopes are requested with `user_scope`.
 * A user id is unique within a team only.
 * @see https://docs.slack.dev/authentication/installing-with-oauth
 * @see https://docs.slack.dev/reference/methods/oauth.v2.access
 * @see https://docs.slack.dev/reference/methods/auth.revoke
 */
const slack: ResponseFormat = {
  scopeParameters: (scopes) => ({ user_scope: scopes.join(',') }),
  readToken: (status, body) => {
    if (body['ok'] !== true)
      return { status: 400, body: { error: slackErrors[String(body['error'])] ?? body['error'] } };
    const user = isMembers(body['authed_user']) ? body['authed_user'] : body;
    const { access_token, refresh_token, expires_in, scope } = user;
    return {
      status,
      body: {
        access_token,
        token_type: 'Bearer',
        ...(refresh_token !== undefined && { refresh_token }),
        ...(expires_in !== undefined && { expires_in }),
        ...(typeof scope === 'string' && { scope: scope.split(',').join(' ') }),
      },
    };
  },
  readUser: (status, body) => {
    const { team_id: team, user_id: user, subject: _unread, ...rest } = body;
    if (body['ok'] === true) {
      const hasUser = typeof team === 'string' && typeof user === 'string';
      return { status, body: { ...rest, ...(hasUser && { subject: `${team}.${user}` }) } };
    }
    return { status: INVALID_TOKEN.has(String(body['error'])) ? 401 : 503, body: {} };
  },
  revocation: () => ({ method: 'POST', path: '', body: null, proof: 'token' }),
  isRevoked: (status, body) =>
    standard.isRevoked(status, body) &&
    isMembers(body) &&
    (body['ok'] === true || INVALID_TOKEN.has(String(body['error']))),
};

/** Slack's errors for a token that has ended. */
const INVALID_TOKEN: ReadonlySet<string> = new Set([
  'invalid_auth',
  'token_revoked',
  'token_expired',
  'account_inactive',
]);

const slackErrors: Readonly<Record<string, string>> = {
  invalid_code: 'invalid_grant',
  code_already_used: 'invalid_grant',
  invalid_refresh_token: 'invalid_grant',
  token_revoked: 'invalid_grant',
  token_expired: 'invalid_grant',
  bad_client_secret: 'invalid_client',
  invalid_client_id: 'invalid_client',
};

export const responseFormats: Readonly<Record<NonNullable<PlainProvider['responseFormat']>, ResponseFormat>> =
  {
    standard,
    github,
    slack,
  };

/** Translates a response into the standard format. One that is not a JSON object stays as it is and fails later. */
export async function translateResponse(
  response: Response,
  read: (status: number, body: JsonFields) => { readonly status: number; readonly body: JsonFields },
): Promise<Response> {
  const text = await response.text();
  const headers = new Headers(response.headers);
  headers.delete('content-length');
  try {
    const body: unknown = parseStrictJson(text);
    if (!isMembers(body)) return new Response(text, { status: response.status, headers });
    const translated = read(response.status, body);
    headers.set('content-type', 'application/json');
    return new Response(JSON.stringify(translated.body), { status: translated.status, headers });
  } catch {
    return new Response(text, { status: response.status, headers });
  }
}

/** Names in responses of Google for scopes that are requested by those of OpenID Connect. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['email', 'https://www.googleapis.com/auth/userinfo.email'],
  ['profile', 'https://www.googleapis.com/auth/userinfo.profile'],
]);

/**
 * The granted scopes; those requested if the response has none. One that was requested counts as granted under another name, too; and
 * `offline_access`, which Entra leaves out, if there is a refresh token.
 * @see RFC 6749 §5.1, https://developers.google.com/identity/protocols/oauth2/scopes
 */
export function readGrantedScopes(
  scope: string | undefined,
  requested: Scopes,
  isRefreshable: boolean,
): Scopes {
  if (scope === undefined) return intersectScopes(requested, requested);
  const granted = new Set(scope.split(' ').filter((one) => one !== ''));
  const isGranted = (one: string) =>
    one === 'offline_access' ? isRefreshable : granted.has(RENAMED.get(one) ?? one);
  return [...new Set([...granted, ...requested.filter(isGranted)])];
}
