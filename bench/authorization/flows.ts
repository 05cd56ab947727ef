/** The flows that are measured, the same for every authorization server. Every response is checked. */
import { createHash } from 'node:crypto';
import { type Answer, type Begin, form, request, type Step } from '../harness/load.ts';
import type { Server } from '../harness/server.ts';

export type FlowName =
  | 'refresh'
  | 'client credentials'
  | 'authorization code'
  | 'authorization code, asked'
  | 'registration'
  | 'introspection';

/** Targets, as shares of the speed of bare node:http. */
export const aims: Readonly<Record<FlowName, number | null>> = {
  refresh: 0.18,
  'client credentials': 0.2,
  'authorization code': 0.1,
  'authorization code, asked': null,
  registration: 0.24,
  introspection: 0.5,
};

export const flowNames: readonly FlowName[] = Object.keys(aims) as FlowName[];

/** An authorization server that takes part. */
export interface Contender {
  readonly name: string;
  /** Its access token format, and where it stores its state. */
  readonly about: string;
  /** Starts it with an empty store. */
  start(): Promise<Server>;
  /** The flows that it supports, each newly prepared with its own token families, sessions and tokens. */
  readonly flows: Readonly<Partial<Record<FlowName, (port: number) => Promise<Begin>>>>;
}

/** The client of all flows. */
export const REDIRECT_URI = 'http://127.0.0.1:9999/callback';
const VERIFIER: string = 'v'.repeat(64);
const CHALLENGE: string = createHash('sha256').update(VERIFIER).digest('base64url');
/** Refresh token families, used in turn, so that each token is presented once. */
export const CHAINS = 100;

export const registrationOf = (scope: string): object => ({
  client_name: 'My MCP client',
  redirect_uris: [REDIRECT_URI],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
  scope,
});

/** The members of a token response that are used here. */
interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
}

export function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

/** A token request. @param take the next step; `null` ends the flow */
export function tokenStep(
  text: string,
  { jwt }: { readonly jwt: boolean },
  take: (tokens: Tokens) => Step | null,
): Step {
  return {
    request: text,
    read({ status, body }) {
      check(status === 200, `status ${status} for tokens`);
      const tokens: Partial<Tokens> = JSON.parse(body);
      check(typeof tokens.access_token === 'string', 'no access token');
      check(
        tokens.access_token.split('.').length === (jwt ? 3 : 1),
        'not the kind of token that was expected',
      );
      return take(tokens as Tokens);
    },
  };
}

/** Refreshes one family after another; each response must contain a new refresh token. */
export function refreshFlow(
  refreshTokens: readonly string[],
  kind: { readonly jwt: boolean },
  formOf: (refreshToken: string) => string,
): Begin {
  const waiting = [...refreshTokens];
  let first = 0;
  return () => {
    const presented = waiting[first];
    if (presented === undefined) return null;
    first += 1;
    // The list would grow without bound.
    if (first > 10_000) {
      waiting.splice(0, first);
      first = 0;
    }
    return tokenStep(formOf(presented), kind, ({ refresh_token: successor }) => {
      check(typeof successor === 'string' && successor !== presented, 'the refresh token was not rotated');
      waiting.push(successor);
      return null;
    });
  };
}

/** One token request after another. */
export function tokenFlow(text: string, kind: { readonly jwt: boolean }): Begin {
  return () => tokenStep(text, kind, () => null);
}

/** Registers one client after another. */
export function registrationFlow(path: string, document: object): Begin {
  const text = request('POST', path, { 'content-type': 'application/json' }, JSON.stringify(document));
  const read = ({ status, body }: Answer): null => {
    check(status === 201, `status ${status} for a registration`);
    check(typeof JSON.parse(body).client_id === 'string', 'no client_id');
    return null;
  };
  return () => ({ request: text, read });
}

/** Introspects tokens that are active, in turn. */
export function introspectionFlow(requests: readonly string[]): Begin {
  let next = 0;
  const read = ({ status, body }: Answer): null => {
    check(status === 200, `status ${status} for an introspection`);
    check(JSON.parse(body).active === true, 'not active');
    return null;
  };
  return () => {
    next = (next + 1) % requests.length;
    return { request: requests[next] ?? '', read };
  };
}

/** The code of the redirect that ends an authorization request. */
export function codeOf(answer: Answer, redirectUri: string = REDIRECT_URI): string {
  const location = locationOf(answer);
  check(location.startsWith(redirectUri), `sent to ${location}`);
  const code = new URL(location).searchParams.get('code');
  check(code !== null, `no code in ${location}`);
  return code;
}

export function locationOf({ status, head }: Answer): string {
  const location = /\r\nlocation: ([^\r]*)/i.exec(head)?.[1];
  check(status >= 300 && status < 400 && location !== undefined, `status ${status}, no redirect`);
  return location;
}

/** The values of all cookies that a response sets, as a `Cookie` header. */
export function cookiesOf(
  { head }: Answer,
  before: ReadonlyMap<string, string> = new Map(),
): Map<string, string> {
  const jar = new Map(before);
  for (const [, name = '', value = ''] of head.matchAll(/\r\nset-cookie: ([^=]+)=([^;\r]*)/gi)) {
    if (value === '') jar.delete(name);
    else jar.set(name, value);
  }
  return jar;
}

export function cookieField(jar: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
  return jar.size === 0 ? {} : { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') };
}

/** The request that redeems a code. */
export function redemption(
  path: string,
  clientId: string,
  code: string,
  resource: string | null,
  redirectUri: string = REDIRECT_URI,
): string {
  return form(path, {
    grant_type: 'authorization_code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code_verifier: VERIFIER,
    code,
    ...(resource !== null && { resource }),
  });
}

/** The path and query of an authorization request. */
export function authorization(
  path: string,
  clientId: string,
  scope: string,
  resource: string,
  redirectUri: string = REDIRECT_URI,
): string {
  const parameters = {
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    state: 'a-state-of-the-client',
    resource,
  };
  return `${path}?${new URLSearchParams(parameters)}`;
}
