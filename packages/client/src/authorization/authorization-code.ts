/** Signing a person in: request, browser, answer, code, tokens; in one go, or in two halves for hosts with pages of their own. */
import type { Scopes } from '@portcullis/protocol';
import type { DiscoveryResult } from '../discovery/discovery-result.ts';
import { ClientError } from '../errors.ts';
import type { PrivateEcJwk } from '../jwk.ts';
import type { Registration } from '../registration/registration.ts';
import type { ClientSettings } from '../settings.ts';
import type { TokenEndpointContext } from '../token-endpoint/endpoint-request.ts';
import { requestTokens } from '../token-endpoint/token-request.ts';
import type { Tokens } from '../token-endpoint/token-response.ts';
import type { PendingAuthorization } from './pending.ts';
import type { ReceivedRedirect } from './receiver.ts';
import { authorizationRequest, checkPkceSupport } from './request.ts';
import {
  codeTokenRequest,
  readRedirectQuery,
  takePendingAuthorization,
  validateAuthorizationResponse,
} from './response.ts';
import type { ScopePlan } from './scope-plan.ts';

/** Finds or makes the registration for redirect URIs; those of the ones it knows come first. */
export interface RegistrationSource {
  /** Redirect URIs that are registered already. */
  registeredUris(discovery: DiscoveryResult): Promise<readonly string[]>;
  /** A registration that these URIs belong to. `scopes`: what it is going to ask for. */
  register(
    discovery: DiscoveryResult,
    redirectUris: readonly string[],
    scopes?: Scopes,
  ): Promise<Registration>;
}

/** What a sign-in is for. */
interface SignInCase {
  readonly discovery: DiscoveryResult;
  readonly plan: ScopePlan;
  readonly dpopKey: PrivateEcJwk | null;
  readonly prompt: string | null;
}

export interface AuthorizationCodeGrant {
  /** All of it, with the host's browser and receiver. */
  run(situation: SignInCase): Promise<Tokens>;
  /** The first half: where to send the browser. */
  begin(situation: SignInCase, redirectUri: string, binding: string | null): Promise<string>;
  /** The second half begins with taking the flow that the URL at which the browser arrived, or its query, answers. */
  take(arrived: string | URLSearchParams, binding: string | null): Promise<PendingAuthorization>;
  /** It ends with the tokens. */
  finish(pending: PendingAuthorization, arrived: string | URLSearchParams): Promise<Tokens>;
}

/** Makes the room. */
export function createAuthorizationCodeGrant(
  configuration: ClientSettings,
  hands: TokenEndpointContext,
  registrar: RegistrationSource,
): AuthorizationCodeGrant {
  const { store, browser, receiver, clock, random, account } = configuration;

  return {
    async run(situation) {
      if (browser === null || receiver === null) {
        throw new ClientError(
          'sign_in_needed',
          'A person has to sign in, and this client has no browser to do it in.',
        );
      }
      checkPkceSupport(situation.discovery);
      const listener = await receiver.listen(await registrar.registeredUris(situation.discovery));
      try {
        const { url, state } = await start(situation, listener.redirectUri, null);
        // The ear is open before the browser is.
        const { promise: opened, resolve: isOpen } = Promise.withResolvers<void>();
        const arriving = listener.waitForRedirect(state, opened);
        arriving.catch(() => undefined);
        await browser.open(url);
        isOpen();
        return await receive(await arriving);
      } finally {
        await listener.close();
      }
    },

    async begin(situation, redirectUri, binding) {
      checkPkceSupport(situation.discovery);
      return (await start(situation, redirectUri, binding)).url;
    },

    take: (arrived, binding) => takePendingAuthorization(store, readRedirectQuery(arrived), binding, clock()),
    finish,
  };

  async function start(
    { discovery, plan, dpopKey, prompt }: SignInCase,
    redirectUri: string,
    binding: string | null,
  ): Promise<{ url: string; state: string }> {
    const registration = await registrar.register(discovery, [redirectUri], plan.scopes);
    const { scopes } = plan;
    const now = clock();
    const flow = await authorizationRequest({
      ...{ discovery, registration, redirectUri, scopes, account, dpopKey, binding, prompt, now, random },
    });
    await store.savePending(flow.pending);
    return { url: flow.url, state: flow.pending.state };
  }

  /** The person reads how it went only when it is known. */
  async function receive(arrival: ReceivedRedirect): Promise<Tokens> {
    try {
      const tokens = await finish(
        await takePendingAuthorization(store, arrival.query, null, clock()),
        arrival.query,
      );
      await arrival.respond({ ok: true, message: 'You are signed in. You can close this page.' });
      return tokens;
    } catch (error) {
      const message =
        error instanceof ClientError ? error.message : 'Something went wrong in the application.';
      await arrival.respond({ ok: false, message });
      throw error;
    }
  }

  async function finish(pending: PendingAuthorization, arrived: string | URLSearchParams): Promise<Tokens> {
    return requestTokens(
      hands,
      codeTokenRequest(pending, validateAuthorizationResponse(readRedirectQuery(arrived), pending)),
    );
  }
}
