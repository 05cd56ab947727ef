/** Connection requests: redirects to the authorization server of a backend and back, bound to the browser, the user and the grant. */
import type { Scopes } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { createPendingLogins, type StartedLogin } from '../federation/pending-logins.ts';
import type { TokenVault } from '../federation/token-vault.ts';
import {
  appKeyOf,
  type BackendRegistrations,
  backendDocumentUrl,
  backendRedirectUri,
  type UserBackend,
} from './backend.ts';

/** What a connection is for. */
interface ConnectionRequest {
  /** The grant that will use the tokens; in a transaction, the one that its code will create. */
  readonly grantId: string;
  /** The client that the grant is for. */
  readonly clientId: string;
  /** The signed-in user. Another user in the callback is rejected. */
  readonly accountId: string;
  /** Requested besides those that the backend names. */
  readonly scopes: Scopes;
  /** The waiting transaction; `null`: a link of the gateway was opened. */
  readonly transaction: {
    readonly id: string;
    readonly approvedScopes: Scopes;
    readonly workspace: string | null;
    /** Backends that the user has not connected in this transaction, and is not asked for again. */
    readonly skipped: readonly string[];
  } | null;
  /** The link that was opened; `null` in a transaction. */
  readonly link: string | null;
  /** Epoch seconds after which it is no longer needed. */
  readonly until: number;
}

/** Kept, encrypted, until the callback. */
export interface ConnectionSecrets extends Pick<ConnectionRequest, 'grantId' | 'link'> {
  /** Of the backend's client. */
  readonly secrets: object;
  readonly skipped: readonly string[];
}

export type ConnectionRequests = ReturnType<typeof createConnectionRequests>;

export function createConnectionRequests(context: ServerContext, vault: TokenVault) {
  const { issuer } = context.options;
  const { start, ...pending } = createPendingLogins<ConnectionSecrets>(context, vault, 'backend login');
  return {
    ...pending,
    start(
      backend: UserBackend,
      request: ConnectionRequest,
      cookies: readonly string[] = [],
    ): Promise<StartedLogin> {
      const { grantId, clientId, link, accountId, scopes, transaction, until } = request;
      const facts = {
        identityProvider: null,
        backend: backend.id,
        accountId,
        transactionId: transaction?.id ?? null,
        returnTo: null,
        approvedScopes: transaction?.approvedScopes ?? [],
        workspace: transaction?.workspace ?? null,
      };
      const about = { backend: backend.id, accountId };
      return start({ facts, about, until, cookies }, async () => {
        const { url, state, secrets } = await backend.begin({
          redirectUri: backendRedirectUri(issuer, backend.id),
          documentUrl: backendDocumentUrl(issuer, backend.id, appKeyOf(clientId)),
          scopes,
          registrations: createBackendRegistrations(context, vault, backend, clientId),
        });
        return { url, state, secrets: { grantId, link, secrets, skipped: transaction?.skipped ?? [] } };
      });
    },
  };
}

/** @param appId the client that they are for, unless one client is configured for all */
export function createBackendRegistrations(
  { store, clock }: Pick<ServerContext, 'store' | 'clock'>,
  vault: TokenVault,
  { id: backend, hasConfiguredClient }: Pick<UserBackend, 'id' | 'hasConfiguredClient'>,
  appId: string,
): BackendRegistrations {
  const clientId = hasConfiguredClient ? null : appId;
  const contextOf = (issuer: string) =>
    ['backend registration', backend, ...(clientId === null ? [] : [clientId]), issuer].join(' ');
  return {
    async list() {
      const found = await store.listBackendRegistrations(backend, clientId);
      return Promise.all(
        found.map(async ({ issuer, encryptedRegistration }) => ({
          issuer,
          registration: await vault.decrypt<object>(encryptedRegistration, contextOf(issuer)),
        })),
      );
    },
    async save(issuer, registration) {
      const key = { backend, clientId, issuer };
      if (registration === null) return store.removeBackendRegistration(key);
      const { ciphertext, dataKeyId } = await vault.encrypt(registration, contextOf(issuer));
      const createdAt = clock();
      await store.saveBackendRegistration({
        ...key,
        encryptedRegistration: ciphertext,
        dataKeyId,
        createdAt,
      });
    },
  };
}
