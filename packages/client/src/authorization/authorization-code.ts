/** The authorization code grant: request, browser, redirect, code and tokens, at once or in two steps (begin and complete). */
import type { AuthenticationRequirement, Scopes } from '@portcullis/protocol';
import type { DiscoveryResult } from '../discovery/discovery-result.ts';
import { ClientError, sanitizeText } from '../errors.ts';
import type { PrivateEcJwk } from '../signing-key.ts';
import type { CredentialStore } from '../storage/credential-store.ts';
import type { PendingAuthorization, Registration, Tokens } from '../storage/credentials.ts';
import type { TokenEndpointContext } from '../token-endpoint/endpoint-request.ts';
import { requestTokens } from '../token-endpoint/token-request.ts';
import { pushRequest } from './pushed-request.ts';
import type { Browser, ReceivedRedirect, Receiver } from './receiver.ts';
import { authorizationRequest, requireRequestSupport } from './request.ts';
import {
  codeTokenRequest,
  readRedirectQuery,
  takePendingAuthorization,
  validateAuthorizationResponse,
} from './response.ts';
import type { ScopePlan } from './scope-plan.ts';

/** Provides the registration for redirect URIs. */
export interface RegistrationSource {
  /** Redirect URIs that are already registered. */
  registeredUris(discovery: DiscoveryResult): Promise<readonly string[]>;
  /** A registration with these redirect URIs. @param scopes what the request is going to ask for */
  register(
    discovery: DiscoveryResult,
    redirectUris: readonly string[],
    scopes?: Scopes,
  ): Promise<Registration>;
  /** A registration as it is stored: without the secret of a configured client. */
  withoutSecret(registration: Registration): Registration;
  /** A stored registration with the secret of the configuration; `null`: the client is no longer configured for the issuer. */
  withSecret(stored: Registration, issuer: string): Registration | null;
}

/** What a sign-in requests. */
export interface SignInInput {
  readonly discovery: DiscoveryResult;
  readonly plan: ScopePlan;
  readonly dpopKey: PrivateEcJwk | null;
  readonly prompt: string | null;
  /** How the user must sign in. */
  readonly authentication?: AuthenticationRequirement | undefined;
}

export type AuthorizationCodeGrant = ReturnType<typeof createCodeGrant>;

/** The settings of a client that the grant uses. */
interface CodeGrantSettings {
  readonly store: CredentialStore;
  readonly browser: Browser | null;
  readonly receiver: Receiver | null;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly random: (bytes: number) => Uint8Array;
  readonly account: string;
  /** Canonical URL of the server. */
  readonly server: string;
  readonly registration: { readonly clientName?: string | (() => string) };
}

/** Creates the authorization code grant of a client. */
export function createCodeGrant(
  settings: CodeGrantSettings,
  context: TokenEndpointContext,
  registrations: RegistrationSource,
) {
  const { store, browser, receiver, clock, random, account, server } = settings;

  return {
    /** Signs in with the browser and receiver of the host. */
    async signIn(input: SignInInput): Promise<Tokens> {
      if (browser === null || receiver === null) {
        throw new ClientError(
          'sign_in_needed',
          'The user has to sign in, and this client has no browser to do so.',
        );
      }
      requireRequestSupport(input.discovery);
      const listener = await receiver.listen(await registrations.registeredUris(input.discovery));
      try {
        const { url, state } = await start(input, listener.redirectUri, null);
        // The listener has to be ready before the browser opens.
        const { promise: browserOpened, resolve: reportOpened } = Promise.withResolvers<void>();
        const redirect = listener.waitForRedirect(state, browserOpened);
        redirect.catch(() => undefined);
        const onceUrl = listener.shorten?.(url, true);
        await browser.open(url, listener.redirectUri, listener.shorten?.(url), onceUrl);
        reportOpened();
        return await completeAndRespond(await redirect);
      } finally {
        await listener.close();
      }
    },

    /** First step: the URL for the browser. */
    async begin(input: SignInInput, redirectUri: string, binding: string | null): Promise<string> {
      requireRequestSupport(input.discovery);
      return (await start(input, redirectUri, binding)).url;
    },

    /** Second step: consumes the pending authorization of the redirect URL or its query. */
    take: (redirectedTo: string | URLSearchParams, binding: string | null): Promise<PendingAuthorization> =>
      takePendingAuthorization(store, readRedirectQuery(redirectedTo), { server, account, binding }, clock()),
    complete,
  };

  async function start(
    { discovery, plan: { scopes }, dpopKey, prompt, authentication }: SignInInput,
    redirectUri: string,
    binding: string | null,
  ): Promise<{ url: string; state: string }> {
    const registration = await registrations.register(discovery, [redirectUri], scopes);
    const { url, pending } = await authorizationRequest({
      discovery,
      registration,
      redirectUri,
      scopes,
      account,
      dpopKey,
      binding,
      prompt,
      authentication,
      now: clock(),
      random,
    });
    const opened = await pushRequest(context, url, { discovery, registration, dpopKey });
    await store.savePending({ ...pending, registration: registrations.withoutSecret(registration) });
    return { url: opened, state: pending.state };
  }

  /** The user sees the outcome only after the tokens were issued. */
  async function completeAndRespond({ query, respond }: ReceivedRedirect): Promise<Tokens> {
    const { clientName = 'The app' } = settings.registration;
    const app = typeof clientName === 'function' ? clientName() : clientName;
    try {
      const presenter = { server, account, binding: null };
      const tokens = await complete(await takePendingAuthorization(store, query, presenter, clock()), query);
      const message = `${app} is connected to ${displayNameOf(server)}. You can close this page and return to ${app}.`;
      await respond({ ok: true, message });
      return tokens;
    } catch (error) {
      const cause = error instanceof ClientError ? error.message : 'An error occurred in the application.';
      await respond({ ok: false, message: `${app} was not connected to ${displayNameOf(server)}. ${cause}` });
      throw error;
    }
  }

  /** Completes the second step with the tokens. */
  async function complete(
    pending: PendingAuthorization,
    redirectedTo: string | URLSearchParams,
  ): Promise<Tokens> {
    const code = validateAuthorizationResponse(readRedirectQuery(redirectedTo), pending);
    const registration = registrations.withSecret(pending.registration, pending.issuer);
    if (registration === null) {
      const { clientId } = pending.registration;
      throw new ClientError(
        'configuration_invalid',
        `The client ${clientId} that began this sign-in is no longer configured for ${sanitizeText(pending.issuer)}.`,
      );
    }
    const tokens = await requestTokens(context, codeTokenRequest({ ...pending, registration }, code));
    return { ...tokens, registration: pending.registration };
  }
}

/** The host and the path of a server. */
function displayNameOf(server: string): string {
  const { host, pathname } = new URL(server);
  return `${host}${pathname === '/' ? '' : pathname}`;
}
