/** Client administration: adding, listing, disabling and removing clients. */
import { OAuthError, type RedirectPolicy } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import type { ServerOptions } from '../options.ts';
import { hashSecret, newIdentifier, newSecret } from '../secrets.ts';
import type { ClientRecord } from '../store/index.ts';
import { checkClientId, readPreRegisteredMetadata, usesSecret } from './configured-clients.ts';
import { createRegistrationResponse } from './registration-metadata.ts';

/** A stored client without its hashes. */
export type ListedClient = Omit<ClientRecord, 'secretHash' | 'managementHash'>;

/** Administers the clients of a store. */
export interface ClientAdministration {
  /**
   * Adds a client that never expires.
   * @param document RFC 7591 metadata; `client_id` may be chosen. Without `token_endpoint_auth_method` it is public
   * @returns what was registered, with the secret, which cannot be read again
   * @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri`
   */
  add(document: object): Promise<Readonly<Record<string, unknown>>>;
  /** Registered and added clients, ordered by identifier: at most `limit` after `after`. */
  list(after?: string, limit?: number): Promise<readonly ListedClient[]>;
  /** `null` when the client is unknown. */
  find(id: string): Promise<ListedClient | null>;
  /**
   * Revokes everything that a client holds and disables it until it is enabled again; revoked grants stay revoked.
   * @returns `false` when the client is unknown
   */
  disable(id: string): Promise<boolean>;
  /** @returns `false` when the client is unknown */
  enable(id: string): Promise<boolean>;
  /** Removes a client with its grants, codes and transactions. @returns `false` when the client is unknown */
  remove(id: string): Promise<boolean>;
}

/** What client administration depends on: no running server. */
export type ClientAdministrationContext = Pick<ServerContext, 'store' | 'clock' | 'events'> &
  Pick<ServerOptions, 'issuer' | 'redirects'> & {
    /** Identifiers of the clients in the configuration. */
    readonly clients: Pick<ReadonlySet<string>, 'has'>;
  };

/** Works with or without a running server. */
export function createClientAdministration(configuration: ClientAdministrationContext): ClientAdministration {
  const { store, clients, clock, events, issuer } = configuration;
  const redirects: RedirectPolicy = { ...configuration.redirects, ownOrigin: new URL(issuer).origin };
  const describeWhole = createRegistrationResponse(configuration);
  return {
    async add(document) {
      const { client_id: chosen } = document as { readonly client_id?: unknown };
      const id = chosen === undefined ? newIdentifier('client') : checkFree(checkClientId(chosen));
      const metadata = readPreRegisteredMetadata(
        { token_endpoint_auth_method: 'none', ...document },
        redirects,
      );
      const secret = usesSecret(metadata) ? newSecret() : null;
      const client: ClientRecord = {
        id,
        origin: 'administered',
        metadata,
        secretHash: secret === null ? null : hashSecret(secret),
        managementHash: null,
        createdAt: clock(),
        lastUsedAt: null,
        disabledAt: null,
        expiresAt: null,
      };
      if (!(await store.saveClient(client))) throw identifierTaken();
      events({ type: 'client.added', clientId: id });
      return { ...describeWhole(client, { secret, managementToken: null }) };
    },
    async list(after = '', limit = 100) {
      const records = await store.listClients(after, limit);
      return records.map(describeClient);
    },
    async find(id) {
      const record = await store.findClient(id);
      return record === null ? null : describeClient(record);
    },
    async disable(id) {
      const disabled = await store.disableClient(id, clock());
      if (disabled) events({ type: 'client.disabled', clientId: id });
      return disabled;
    },
    async enable(id) {
      const enabled = await store.enableClient(id);
      if (enabled) events({ type: 'client.enabled', clientId: id });
      return enabled;
    },
    async remove(id) {
      const removed = await store.removeClient(id, clock());
      if (removed) events({ type: 'client.removed', clientId: id });
      return removed;
    },
  };

  function checkFree(id: string): string {
    if (clients.has(id)) throw identifierTaken();
    return id;
  }
}

function describeClient({
  secretHash: _secret,
  managementHash: _management,
  ...listed
}: ClientRecord): ListedClient {
  return listed;
}

function identifierTaken(): OAuthError {
  return new OAuthError(
    'invalid_client_metadata',
    'client_id: already in use by another client; remove that one first',
  );
}
