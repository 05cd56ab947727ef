/** A sign-in in two steps for hosts with their own pages: one request redirects the browser, another one receives it back. */
import type { AuthorizationCodeGrant } from '../authorization/authorization-code.ts';
import type { ServerDiscovery } from '../discovery/server-discovery.ts';
import { isUnknownClientError } from '../registration/registration-status.ts';
import type { StoredRegistrations } from '../registration/stored-registrations.ts';
import type { SessionRevocation } from './session-revocation.ts';
import type { TokenManager } from './token-manager.ts';
import type { TokenSource } from './token-source.ts';

/** Input of the first step. */
export interface BeginOptions {
  /** Value of the `prompt` parameter, for example `select_account`. */
  readonly prompt?: string;
  /** Where the browser is redirected to. */
  readonly redirectUri: string;
  /** Required by the second step too, such as the session of the user at this host. */
  readonly binding?: string;
}

/** What both steps use. */
interface TwoStepServices {
  readonly discovery: ServerDiscovery;
  readonly source: TokenSource;
  readonly codeGrant: AuthorizationCodeGrant;
  readonly registrations: StoredRegistrations;
  readonly tokens: TokenManager;
  readonly revocation: SessionRevocation;
}

/** First step: the URL for the browser. @throws ClientError */
export async function beginSignIn(
  { discovery, source, codeGrant, registrations }: TwoStepServices,
  { redirectUri, binding, prompt }: BeginOptions,
): Promise<string> {
  const prepared = await source.prepare(await discovery.requestChallenge(), source.planFirst, 'user');
  if (prepared === null) throw new TypeError('A first request is always planned.');
  return registrations.replaceUnknown(prepared.discovery, () =>
    codeGrant.begin({ ...prepared, prompt: prompt ?? null }, redirectUri, binding ?? null),
  );
}

/**
 * Second step: validates the response, redeems the code and saves the tokens.
 * @param redirectedTo the complete redirect URL, or its query
 * @throws ClientError
 */
export async function completeSignIn(
  { codeGrant, registrations, tokens, revocation }: TwoStepServices,
  redirectedTo: string | URLSearchParams,
  binding: string | null,
): Promise<void> {
  const pending = await codeGrant.take(redirectedTo, binding);
  const { server, issuer, account } = pending;
  const key = { server, issuer, account, kind: 'user' } as const;
  try {
    const replaced = await tokens.save(key, await codeGrant.complete(pending, redirectedTo));
    if (replaced !== null) await revocation.revokeReplaced(replaced);
  } catch (error) {
    // The next sign-in registers a new client.
    if (isUnknownClientError(error))
      await registrations.discard(key, error.message, pending.registration.clientId);
    throw error;
  }
}
