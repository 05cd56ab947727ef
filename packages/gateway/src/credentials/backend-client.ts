/** The OAuth client of a backend: the client library with the registration, the limits and the SSRF guard of the gateway. */

import { IdentityProviderError, toIdentityProviderError } from '@portcullis/authorization-server';
import {
  type Client,
  ClientError,
  type ClientSigningKey,
  type CredentialStore,
  createClient,
  type EnterpriseGrant,
  type PreregisteredClient,
  readServerUrl,
  readSigningKey,
} from '@portcullis/client';
import { OutboundError, type OutboundFetch } from '@portcullis/http/outbound';
import { OAuthError, type Scopes, temporarilyUnavailable } from '@portcullis/protocol';
import { AUTHORIZATION_SERVER_TIMEOUT } from '../limits.ts';
import type { BackendClient } from '../servers/credential-options.ts';
import type { GatewayServer } from '../servers/server.ts';
import { SESSION_ACCOUNT } from './session-store.ts';
import { createConfiguredFetch } from './token-request.ts';

/** A protected backend as its client needs it. */
export interface ProtectedBackend {
  /** The path of its server. */
  readonly id: string;
  readonly name: string;
  /** Canonical URL. */
  readonly url: string;
  readonly fetch: OutboundFetch;
}

export function protectedBackendOf({ path, name, backend }: GatewayServer): ProtectedBackend | null {
  if (backend === null || backend.kind === 'stdio') return null;
  const url = readServerUrl(backend.urls[0].href);
  // A backend that was configured in a private network may name an authorization server beside it.
  const fetch = createConfiguredFetch(url, AUTHORIZATION_SERVER_TIMEOUT);
  return { id: path, name, url, fetch };
}

export interface BackendClientSettings {
  readonly client: BackendClient | null;
  readonly store: CredentialStore;
  readonly grant?: { readonly kind: 'application' } | EnterpriseGrant;
  /** Requested in place of those that the backend names; `null`: those. */
  readonly scopes: Scopes | null;
  /** Requested in addition. */
  readonly moreScopes?: Scopes;
  readonly documentUrl?: string | null;
  /** Name of this server in registrations. */
  readonly clientName?: string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

export async function createBackendClient(
  { url, fetch }: ProtectedBackend,
  settings: BackendClientSettings,
): Promise<Client> {
  const { client, store, grant, scopes, moreScopes = [], documentUrl, clientName, clock } = settings;
  const preregistered = client === null ? [] : [await preregisteredClient(client)];
  return createClient({
    serverUrl: url,
    store,
    fetch,
    clock,
    account: SESSION_ACCOUNT,
    dpop: 'when-offered',
    limits: { timeout: AUTHORIZATION_SERVER_TIMEOUT, retryDelays: [] },
    scopes: scopes === null ? { add: moreScopes } : { only: [...new Set([...scopes, ...moreScopes])] },
    ...(grant !== undefined && { grant }),
    registration: {
      preregistered,
      ...(client === null && documentUrl != null && { metadataDocumentUrl: documentUrl }),
      ...(clientName !== undefined && { clientName }),
    },
  });
}

/** Imported once for each definition. */
const signingKeys = new WeakMap<object, Promise<ClientSigningKey>>();

export async function preregisteredClient({
  clientId,
  secret,
  key,
}: BackendClient): Promise<PreregisteredClient> {
  if (key === null) return { clientId, ...(secret !== null && { clientSecret: secret }) };
  const known = signingKeys.get(key) ?? readSigningKey(key.privateKey, key.algorithm, key.keyId);
  signingKeys.set(key, known);
  return { clientId, signingKey: await known, authentication: 'private_key_jwt' };
}

/** An error of the client library as the machinery of provider tokens classifies it. The message names no secret. */
export function toBackendError(error: unknown): IdentityProviderError {
  if (!(error instanceof ClientError)) return toIdentityProviderError(error);
  const { code, oauthError, retryAfter, cause } = error;
  if (cause instanceof OutboundError) return toIdentityProviderError(cause);
  if (error.temporary) {
    return new IdentityProviderError('outage', `no usable response (${code})`, {
      retryAfter: retryAfter ?? null,
      isResponseLost: code === 'unreachable',
    });
  }
  if (code === 'authorization_denied')
    return new IdentityProviderError('refused', 'the user declined', { code: 'access_denied' });
  if (oauthError !== undefined && /^[a-z_]{1,50}$/.test(oauthError))
    return new IdentityProviderError('refused', `it responded ${oauthError}`, { code: oauthError });
  return new IdentityProviderError('misbehaved', `${code}: ${error.message}`);
}

/** The same for a request that cannot be served now. @throws OAuthError `temporarily_unavailable` */
export function throwUnavailable({ name }: ProtectedBackend, error: unknown): never {
  if (error instanceof OAuthError) throw error;
  const { message, retryAfter } = toBackendError(error);
  throw temporarilyUnavailable(`credentials for ${name}: ${message}`, retryAfter ?? 10);
}
