/** Tokens of backends: stored for one grant and backend, kept alive as those of identity providers are, and never used for another. */
import type { Scopes } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { newSecret, newSuffix } from '../secrets.ts';
import type { ProviderTokensRecord } from '../store/index.ts';
import { type ProviderTokenLiveness, ProviderTokensEndedError } from './liveness.ts';
import type {
  BackendRegistrations,
  BackendTokenResponse,
  BackendTokenSet,
  UserBackend,
} from './provider/backend.ts';
import { providerTokensContext } from './provider/token-set.ts';
import { createProviderTokensRecord, discardedRecord } from './provider-tokens-record.ts';
import type { TokenIssuer } from './token-issuer.ts';
import type { TokenVault } from './token-vault.ts';

/** The tokens of one grant at one backend, known to be alive. */
export interface BackendTokens {
  readonly tokens: BackendTokenSet;
  readonly scopes: Scopes;
  /** Changes with each refresh and each new connection. */
  readonly version: number;
  /** Epoch seconds until which they need not be looked up again. */
  readonly until: number;
  /** Epoch seconds at which they were issued. */
  readonly issuedAt: number;
}

/** Whose tokens, and where they are for. */
interface BackendTokensOwner {
  readonly grantId: string;
  readonly accountId: string;
  readonly backend: UserBackend;
}

export interface BackendTokenVault {
  /** `null`: the grant has none, or they have ended. @throws OAuthError `temporarily_unavailable` */
  find(grantId: string, backend: string): Promise<BackendTokens | null>;
  /** New tokens in place of rejected ones. @param version that was rejected */
  replace(grantId: string, backend: string, version: number): Promise<BackendTokens | null>;
  /**
   * Saves the tokens of a new connection. If the transaction or the grant is gone, they are revoked at the backend.
   * @param transactionId `null`: the grant exists
   */
  save(
    owner: BackendTokensOwner,
    response: BackendTokenResponse & { readonly issuer: string },
    transactionId: string | null,
  ): Promise<boolean>;
  /** @param clientId the app whose registration it is, unless one client is configured for all */
  registrationsOf(backend: UserBackend, clientId: string): BackendRegistrations;
}

/** The identifier of the tokens of a grant at a backend. */
export function backendTokensId(grantId: string, backend: string): string {
  return `${grantId} ${backend}`;
}

/** Seconds: a backend says by 401 that a token has ended, so its status is not asked for. */
const NEVER_CHECKED = 20 * 365 * 86_400;

/** A backend as what issued tokens, for liveness and revocation. */
export function tokenIssuerOf(backend: UserBackend): TokenIssuer {
  return {
    id: backend.id,
    statusCheckInterval: NEVER_CHECKED,
    revocationEnds: 'grant',
    client: {
      refresh: (tokens) => backend.refresh(tokens as BackendTokenSet),
      checkStatus: async () => 'unknown',
      revoke: (tokens) => backend.revoke(tokens as BackendTokenSet),
    },
  };
}

export function createBackendTokenVault(
  context: ServerContext,
  vault: TokenVault,
  liveness: ProviderTokenLiveness,
): BackendTokenVault {
  const { store, events, clock } = context;

  async function read(record: ProviderTokensRecord | null, until: number): Promise<BackendTokens | null> {
    if (record === null || record.encryptedTokens === null) return null;
    const { grantId, scopes, version, checkedAt } = record;
    const tokens = await vault.decrypt<BackendTokenSet>(
      record.encryptedTokens,
      providerTokensContext(grantId),
    );
    return { tokens, scopes, version, until, issuedAt: checkedAt };
  }

  return {
    async find(grantId, backend) {
      try {
        const { record, until } = await liveness.check(backendTokensId(grantId, backend));
        return await read(record, until);
      } catch (error) {
        if (error instanceof ProviderTokensEndedError) return null;
        throw error;
      }
    },

    async replace(grantId, backend, version) {
      try {
        return await read(await liveness.replace(backendTokensId(grantId, backend), version), clock());
      } catch (error) {
        if (error instanceof ProviderTokensEndedError) return null;
        throw error;
      }
    },

    async save(owner, response, transactionId) {
      const { grantId, accountId, backend } = owner;
      const record = await createRecord(context, vault, owner, response);
      const about = { identityProvider: backend.id, accountId, grantId };
      // Point of no return: these tokens take the place of earlier ones.
      if (await store.saveBackendTokens(record, transactionId)) {
        events({
          type: 'provider_token.stored',
          ...about,
          ...(transactionId !== null && { transactionId }),
        });
        return true;
      }
      // Under an identifier of its own, so that it cannot be confused with a connection.
      const discarded = { ...owner, grantId: `${grantId} ${newSuffix(12)}` };
      const unused = await createRecord(context, vault, discarded, response);
      await store.saveEndedProviderTokens(discardedRecord(unused, clock()));
      events({ type: 'provider_token.discarded', identityProvider: backend.id, accountId });
      return false;
    },

    registrationsOf: ({ id, hasConfiguredClient }, clientId) =>
      createRegistrations(context, vault, hasConfiguredClient ? id : `${id} ${clientId}`),
  };
}

function createRecord(
  context: ServerContext,
  vault: TokenVault,
  { grantId, accountId, backend }: BackendTokensOwner,
  response: BackendTokenResponse & { readonly issuer: string },
): Promise<ProviderTokensRecord> {
  const facts = {
    grantId: backendTokensId(grantId, backend.id),
    backendGrantId: grantId,
    accountId,
    identityProvider: backend.id,
    issuer: response.issuer,
    // A backend does not say who its user is: this identifies the connection, through all refreshes.
    subject: newSecret(),
    name: null,
  };
  return createProviderTokensRecord(context, vault, facts, response);
}

function createRegistrations(
  { store, clock }: ServerContext,
  vault: TokenVault,
  backend: string,
): BackendRegistrations {
  const contextOf = (issuer: string) => `backend registration ${backend} ${issuer}`;
  return {
    async list() {
      const found = await store.listBackendRegistrations(backend);
      return Promise.all(
        found.map(async ({ issuer, encryptedRegistration }) => ({
          issuer,
          registration: await vault.decrypt<object>(encryptedRegistration, contextOf(issuer)),
        })),
      );
    },
    async save(issuer, registration) {
      if (registration === null) return store.removeBackendRegistration(backend, issuer);
      const { ciphertext, dataKeyId } = await vault.encrypt(registration, contextOf(issuer));
      await store.saveBackendRegistration({
        backend,
        issuer,
        encryptedRegistration: ciphertext,
        dataKeyId,
        createdAt: clock(),
      });
    },
  };
}
