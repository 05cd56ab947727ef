/** A sign-in in two halves, for hosts with pages of their own: the browser is sent away in one request, and comes back in another. */
import type { AuthorizationCodeGrant } from '../authorization/authorization-code.ts';
import type { ServerDiscovery } from '../discovery/server-discovery.ts';
import { isUnknownClientError } from '../registration/registration-status.ts';
import type { StoredRegistrations } from '../registration/stored-registrations.ts';
import type { Obtainer } from './obtainer.ts';
import type { SessionRevocation } from './session-revocation.ts';
import type { TokenManager } from './token-manager.ts';

/** What the first half of a sign-in with pages of one's own needs. */
export interface BeginOptions {
  /** Sent as `prompt`, for example `select_account`. */
  readonly prompt?: string;
  /** Where the browser comes back to. */
  readonly redirectUri: string;
  /** What the answer has to be completed with, such as the session of the person at this host. */
  readonly binding?: string;
}

/** What both halves are done with. */
interface HalvesHands {
  readonly finder: ServerDiscovery;
  readonly obtainer: Obtainer;
  readonly signIn: AuthorizationCodeGrant;
  readonly registry: StoredRegistrations;
  readonly access: TokenManager;
  readonly ending: SessionRevocation;
}

/** The first half: where to send the browser. @throws ClientError */
export async function beginSignIn(hands: HalvesHands, options: BeginOptions): Promise<string> {
  const { finder, obtainer, signIn } = hands;
  const { redirectUri, binding = null, prompt = null } = options;
  const prepared = await obtainer.prepare(await finder.requestChallenge(), obtainer.planFirst);
  if (prepared === null) throw new TypeError('The first plan always asks.');
  return signIn.begin({ ...prepared, prompt }, redirectUri, binding);
}

/**
 * The second half: keeps the tokens that the answer brings.
 * @param arrived the whole URL at which the browser arrived, or its query
 * @throws ClientError
 */
export async function completeSignIn(
  { signIn, registry, access, ending }: HalvesHands,
  arrived: string | URLSearchParams,
  binding: string | null,
): Promise<void> {
  const pending = await signIn.take(arrived, binding);
  const { server, issuer, account } = pending;
  const key = { server, issuer, account, kind: 'user' } as const;
  try {
    const replaced = await access.keep(key, await signIn.finish(pending, arrived));
    if (replaced !== null) await ending.endEarlier(replaced);
  } catch (error) {
    // The next first half registers anew.
    if (isUnknownClientError(error))
      await registry.discard(key, error.message, pending.registration.clientId);
    throw error;
  }
}
