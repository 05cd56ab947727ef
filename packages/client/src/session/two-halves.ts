/** A sign-in in two halves, for hosts with pages of their own: the browser is sent away in one request, and comes back in another. */
import type { SignIn } from '../authorization/sign-in.ts';
import type { Finder } from '../discovery/finder.ts';
import { isDeadClient } from '../registration/standing.ts';
import type { Registry } from '../registry/registry.ts';
import type { Access } from './access.ts';
import type { Ending } from './ending.ts';
import type { Obtainer } from './obtainer.ts';

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
  readonly finder: Finder;
  readonly obtainer: Obtainer;
  readonly signIn: SignIn;
  readonly registry: Registry;
  readonly access: Access;
  readonly ending: Ending;
}

/** The first half: where to send the browser. @throws ClientError */
export async function beginSignIn(hands: HalvesHands, options: BeginOptions): Promise<string> {
  const { finder, obtainer, signIn } = hands;
  const { redirectUri, binding = null, prompt = null } = options;
  const prepared = await obtainer.prepare(await finder.provoke(), obtainer.planFirst);
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
  const key = { server, issuer, account, kind: 'person' } as const;
  try {
    const replaced = await access.keep(key, await signIn.finish(pending, arrived));
    if (replaced !== null) await ending.endEarlier(replaced);
  } catch (error) {
    // The next first half registers anew.
    if (isDeadClient(error)) await registry.dropDead(key, error.message, pending.registration.clientId);
    throw error;
  }
}
