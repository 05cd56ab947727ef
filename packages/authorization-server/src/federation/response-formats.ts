/** Answers that differ from the standard, translated into it: a table of who says what how. */
import { parseStrictJson } from '@portcullis/http';
import { intersectScopes, type Scopes } from '@portcullis/protocol';
import type { PlainProvider } from './provider-options.ts';

type Json = Readonly<Record<string, unknown>>;

export interface ResponseFormat {
  /** The parameters by which scopes are asked for. */
  scopeParameters(scopes: Scopes): Readonly<Record<string, string>>;
  /** An answer of the token endpoint: its status and JSON, as the standard would have them. */
  readToken(status: number, body: Json): { readonly status: number; readonly body: Json };
  /** Likewise of the endpoint that says who somebody is. */
  readUser(status: number, body: Json): { readonly status: number; readonly body: Json };
  /** How a token is revoked; `null`: as RFC 7009 says. */
  readonly revocation: RevocationRequestFormat | null;
}

/** A request that revokes an access token. */
export type RevocationRequestFormat = (
  token: string,
  clientId: string,
) => {
  readonly method: 'POST' | 'DELETE';
  /** What stands behind the revocation endpoint. */
  readonly path: string;
  readonly body: Json | null;
  /** Whether the client proves itself, or the token does. */
  readonly proof: 'client' | 'token';
};

/** An answer without what would say who somebody is. */
export const withoutIdToken: ResponseFormat['readToken'] = (status, { id_token: _unread, ...body }) => ({
  status,
  body,
});

const standard: ResponseFormat = {
  scopeParameters: (scopes) => (scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
  // Who is no provider of OpenID Connect proves nothing by an ID token.
  readToken: withoutIdToken,
  readUser: (status, body) => ({ status, body }),
  revocation: null,
};

/**
 * Errors of the token endpoint come with status 200, scopes are separated by commas, and a token is deleted at an address
 * that names the application.
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
};

/** What GitHub calls the standard's `invalid_grant`. */
const githubErrors: Readonly<Record<string, string>> = {
  bad_verification_code: 'invalid_grant',
  bad_refresh_token: 'invalid_grant',
  incorrect_client_credentials: 'invalid_client',
};

/**
 * Everything comes with status 200 and `ok`; what belongs to the person stands in `authed_user`, and their scopes are asked
 * for by `user_scope`. An identifier of a person is one within a team.
 * @see https://docs.slack.dev/authentication/installing-with-oauth
 * @see https://docs.slack.dev/reference/methods/oauth.v2.access
 * @see https://docs.slack.dev/reference/methods/auth.revoke
 */
const slack: ResponseFormat = {
  scopeParameters: (scopes) => ({ user_scope: scopes.join(',') }),
  readToken: (status, body) => {
    if (body['ok'] !== true)
      return { status: 400, body: { error: slackErrors[String(body['error'])] ?? body['error'] } };
    const user = isJsonObject(body['authed_user']) ? body['authed_user'] : body;
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
      const isSomebody = typeof team === 'string' && typeof user === 'string';
      return { status, body: { ...rest, ...(isSomebody && { subject: `${team}.${user}` }) } };
    }
    const isDead = ['invalid_auth', 'token_revoked', 'token_expired', 'account_inactive'].includes(
      String(body['error']),
    );
    return { status: isDead ? 401 : 503, body: {} };
  },
  revocation: () => ({ method: 'POST', path: '', body: null, proof: 'token' }),
};

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

/** An answer in the words of the standard. One that is no JSON object stays as it is: whoever reads it will say so. */
export async function translateResponse(
  response: Response,
  read: (status: number, body: Json) => { readonly status: number; readonly body: Json },
): Promise<Response> {
  const text = await response.text();
  const headers = new Headers(response.headers);
  headers.delete('content-length');
  try {
    const body: unknown = parseStrictJson(text);
    if (!isJsonObject(body)) return new Response(text, { status: response.status, headers });
    const translated = read(response.status, body);
    headers.set('content-type', 'application/json');
    return new Response(JSON.stringify(translated.body), { status: translated.status, headers });
  } catch {
    return new Response(text, { status: response.status, headers });
  }
}

export function isJsonObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The granted scopes as told; what was asked for when nothing was told. @see RFC 6749 §5.1 */
export function readGrantedScopes(told: string | undefined, asked: Scopes): Scopes {
  return told === undefined
    ? intersectScopes(asked, asked)
    : [...new Set(told.split(' ').filter((one) => one !== ''))];
}
