/** Signing a person in: request, browser, answer, code, tokens; in one go, or in two halves for hosts with pages of their own. */
import type { Scopes } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { Discovery } from '../discovery/conclude.ts';
import { ClientError } from '../errors.ts';
import type { EllipticJwk } from '../keys/jwk.ts';
import type { Registration } from '../registration/registration.ts';
import type { TokenHands } from '../tokens/token-endpoint.ts';
import { requestTokens } from '../tokens/token-request.ts';
import type { Tokens } from '../tokens/tokens.ts';
import type { Pending } from './pending.ts';
import type { Arrival } from './receiver.ts';
import { askAuthorization, checkPkceSupport } from './request.ts';
import { checkResponse, codeRequest, readArrived, takeFlow } from './response.ts';
import type { ScopePlan } from './scope-plan.ts';

/** Finds or makes the registration for redirect URIs; those of the ones it knows come first. */
export interface Registrar {
  /** Redirect URIs that are registered already. */
  registeredUris(discovery: Discovery): Promise<readonly string[]>;
  /** A registration that these URIs belong to. `scopes`: what it is going to ask for. */
  register(discovery: Discovery, redirectUris: readonly string[], scopes?: Scopes): Promise<Registration>;
}

/** What a sign-in is for. */
interface SignInCase {
  readonly discovery: Discovery;
  readonly plan: ScopePlan;
  readonly dpopKey: EllipticJwk | null;
  readonly prompt: string | null;
}

export interface SignIn {
  /** All of it, with the host's browser and receiver. */
  run(situation: SignInCase): Promise<Tokens>;
  /** The first half: where to send the browser. */
  begin(situation: SignInCase, redirectUri: string, binding: string | null): Promise<string>;
  /** The second half begins with taking the flow that the URL at which the browser arrived, or its query, answers. */
  take(arrived: string | URLSearchParams, binding: string | null): Promise<Pending>;
  /** It ends with the tokens. */
  finish(pending: Pending, arrived: string | URLSearchParams): Promise<Tokens>;
}

/** Makes the room. */
export function createSignIn(configuration: Configuration, hands: TokenHands, registrar: Registrar): SignIn {
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
      const reception = await receiver.listen(await registrar.registeredUris(situation.discovery));
      try {
        const { url, state } = await start(situation, reception.redirectUri, null);
        // The ear is open before the browser is.
        const { promise: opened, resolve: isOpen } = Promise.withResolvers<void>();
        const arriving = reception.arrival(state, opened);
        arriving.catch(() => undefined);
        await browser.open(url);
        isOpen();
        return await receive(await arriving);
      } finally {
        await reception.close();
      }
    },

    async begin(situation, redirectUri, binding) {
      checkPkceSupport(situation.discovery);
      return (await start(situation, redirectUri, binding)).url;
    },

    take: (arrived, binding) => takeFlow(store, readArrived(arrived), binding, clock()),
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
    const flow = await askAuthorization({
      ...{ discovery, registration, redirectUri, scopes, account, dpopKey, binding, prompt, now, random },
    });
    await store.savePending(flow.pending);
    return { url: flow.url, state: flow.pending.state };
  }

  /** The person reads how it went only when it is known. */
  async function receive(arrival: Arrival): Promise<Tokens> {
    try {
      const tokens = await finish(await takeFlow(store, arrival.query, null, clock()), arrival.query);
      await arrival.finish({ ok: true, message: 'You are signed in. You can close this page.' });
      return tokens;
    } catch (error) {
      const message =
        error instanceof ClientError ? error.message : 'Something went wrong in the application.';
      await arrival.finish({ ok: false, message });
      throw error;
    }
  }

  async function finish(pending: Pending, arrived: string | URLSearchParams): Promise<Tokens> {
    return requestTokens(hands, codeRequest(pending, checkResponse(readArrived(arrived), pending)));
  }
}
