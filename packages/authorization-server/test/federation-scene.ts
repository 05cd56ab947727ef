/** A server with identity providers, and a user who signs in there and returns as a browser would. */
import { onTestFinished } from 'vitest';
import type { IdentityProvider as Elsewhere } from '../../../tests/support/identity-providers/identity-provider.ts';
import type { OidcIdentityProvider } from '../../../tests/support/identity-providers/oidc.ts';
import { startOidc } from '../../../tests/support/identity-providers/oidc.ts';
import type { AuthorizationServerOptions, IdentityProviderOptions } from '../src/index.ts';
import { ISSUER, redemption } from './server-under-test.ts';
import { requestOf, type Scene, type Sight, setScene, VERIFIER, type Visitor } from './visitor.ts';

/** Epoch seconds that tests advance, starting now like the identity providers' clocks. */
interface TurnedClock {
  now: number;
}

export interface FederationScene extends Scene {
  readonly clock: TurnedClock;
}

/** The options of an OpenID Connect provider. */
export function openId(
  elsewhere: Elsewhere,
  changes: Partial<IdentityProviderOptions> = {},
): IdentityProviderOptions {
  return {
    id: 'files',
    name: 'Files',
    clientId: elsewhere.client.id,
    clientSecret: elsewhere.client.secret,
    scopes: ['openid', 'offline_access', 'files:read'],
    kind: { issuer: elsewhere.origin },
    parameters: { prompt: 'consent' },
    ...changes,
  };
}

/** The options of the GitHub-like provider. */
export function plain(
  elsewhere: Elsewhere & {
    readonly authorizationEndpoint: string;
    readonly tokenEndpoint: string;
    readonly api: string;
  },
  changes: Partial<IdentityProviderOptions> = {},
): IdentityProviderOptions {
  return {
    id: 'hub',
    name: 'Hub',
    clientId: elsewhere.client.id,
    clientSecret: elsewhere.client.secret,
    scopes: ['read:user', 'repo'],
    kind: {
      endpoints: {
        authorization: elsewhere.authorizationEndpoint,
        token: elsewhere.tokenEndpoint,
        userinfo: `${elsewhere.api}/user`,
        revocation: `${elsewhere.api}/applications`,
      },
      userinfoClaims: { subject: 'id', name: 'login' },
      responseFormat: 'github',
    },
    ...changes,
  };
}

/** Seconds by which the clock may lag behind that of identity providers: half of what is tolerated. */
const MAX_LAG = 5;

/** A server whose users sign in at identity providers. Its clock stands still on a quiet machine. */
export async function setFederationScene(
  identityProviders: readonly IdentityProviderOptions[],
  options: Partial<AuthorizationServerOptions> = {},
): Promise<FederationScene> {
  const clock: TurnedClock = { now: Math.floor(Date.now() / 1000) };
  const scene = await setScene({
    identityProviders,
    clock: () => {
      const real = Math.floor(Date.now() / 1000);
      // On a busy machine, tokens of identity providers would come from the future.
      if (real > clock.now + MAX_LAG) clock.now = real;
      return clock.now;
    },
    localAccounts: false,
    ...options,
  });
  return { ...scene, clock };
}

/** Starts an identity provider for one test, which accepts our redirect URI. */
export async function startProvider<T extends Elsewhere>(start: () => Promise<T>, id: string): Promise<T> {
  const started = await start();
  started.registerRedirectUri(`${ISSUER}/callback/${id}`);
  onTestFinished(() => started.close());
  return started;
}

export const startFiles = (): Promise<OidcIdentityProvider> => startProvider(startOidc, 'files');

/** What a user does at an identity provider. */
export interface ProviderSignIn {
  readonly login?: string;
  readonly answer?: 'allow' | 'deny';
}

/** Cookies of a browser at identity providers, by origin. */
const jars = new WeakMap<Visitor, Map<string, string>>();

/** Clears the browser's cookies of identity providers. */
export function signOutAtProvider(visitor: Visitor): void {
  jars.delete(visitor);
}

/** Logs out there, by its own page, which then reports it to its clients. */
export async function logOutAtProvider(visitor: Visitor, origin: string): Promise<void> {
  const jar = jars.get(visitor) ?? new Map<string, string>();
  const fetchPage = (path: string, init: RequestInit = {}) =>
    fetch(new URL(path, origin), {
      ...init,
      redirect: 'manual',
      headers: { cookie: [...jar].map((pair) => pair.join('=')).join('; ') },
    });
  const asked = await fetchPage('/session/end');
  for (const line of asked.headers.getSetCookie()) {
    const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=');
    jar.set(name, value);
  }
  const [, action = '', xsrf = ''] =
    /action="([^"]+)".* name="xsrf" value="([^"]+)"/s.exec(await asked.text()) ?? [];
  const body = new URLSearchParams({ xsrf, logout: 'yes' });
  const { status } = await fetchPage(action, { method: 'POST', body });
  if (status !== 303 && status !== 302) throw new Error(`The identity provider responds with ${status}.`);
}

/** Signs in there, and returns the callback URL of the identity provider's redirect. */
export async function signInAtProvider(
  visitor: Visitor,
  left: URL | null,
  stay: ProviderSignIn = {},
): Promise<URL> {
  const jar = jars.get(visitor) ?? new Map<string, string>();
  jars.set(visitor, jar);
  let url = left;
  let init: RequestInit = {};
  for (let hops = 0; hops < 12 && url !== null; hops += 1) {
    const cookie = [...jar].map((pair) => pair.join('=')).join('; ');
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: { ...(init.headers as Record<string, string>), ...(cookie !== '' && { cookie }) },
    });
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=');
      jar.set(name, value);
    }
    const location = response.headers.get('location');
    if (location !== null) {
      url = new URL(location, url);
      init = {};
      if (url.origin === ISSUER) return url;
      continue;
    }
    const page = await response.text();
    const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1]?.replaceAll('&amp;', '&');
    if (action === undefined) throw new Error(`The identity provider shows: ${response.status} ${page}`);
    url = new URL(action, url);
    const { login = 'ada', answer = 'allow' } = stay;
    init = { method: 'POST', body: new URLSearchParams({ login, password: 'there', answer }) };
  }
  throw new Error('The identity provider redirects in circles.');
}

/** Allows the client here: returns the identity provider's URL that the browser is redirected to. */
export async function startFederatedLogin(visitor: Visitor, path: string = requestOf()): Promise<Sight> {
  const asked = await visitor.open(path);
  return visitor.submit(asked, { decision: 'allow' });
}

/** Returns with the identity provider's response. */
export function openCallback(visitor: Visitor, back: URL): Promise<Sight> {
  return visitor.open(`${back.pathname}${back.search}`);
}

/** A complete federated login: consent here, sign-in there, callback. */
export async function logInByProvider(
  visitor: Visitor,
  path: string = requestOf(),
  stay: ProviderSignIn = {},
): Promise<Sight> {
  const { left } = await startFederatedLogin(visitor, path);
  return openCallback(visitor, await signInAtProvider(visitor, left, stay));
}

/** The token response for the code of the client `web`. */
export function redeemAt(t: Scene, { left }: Sight): ReturnType<Scene['post']> {
  const code = left?.searchParams.get('code') ?? '';
  return t.post('/token', {
    ...redemption(code, VERIFIER, 'web'),
    client_secret: 'web-secret',
    redirect_uri: 'https://app.example/callback',
  });
}

/** Waits for a condition, in real time. */
export async function until(holds: () => boolean | Promise<boolean>, milliseconds = 100_000): Promise<void> {
  const end = Date.now() + milliseconds;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error('The condition was not met in time.');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
