/** Client administration: adding, updating, listing, disabling and removing clients. */
import { invalidMetadata, type OAuthError, type RedirectPolicy } from '@portcullis/protocol';
import type { StoreContext } from '../context.ts';
import { hashSecret, newIdentifier, newSecret } from '../secrets.ts';
import type { ClientMetadataDocumentRecord, ClientRecord } from '../store/index.ts';
import { checkClientId, prepareUpdate, readPreRegisteredMetadata, usesSecret } from './configured-clients.ts';
import type { ClientsContext } from './options.ts';
import { createRegistrationResponse } from './registration-metadata.ts';

/** A stored client without its hashes, or the client of a cached metadata document. */
export type ListedClient = Omit<
  ClientRecord,
  'origin' | 'secretHash' | 'previousSecret' | 'managementHash' | 'enabledAt'
> & {
  /** The `createdAt` of a metadata document is when it was fetched. */
  readonly origin: ClientRecord['origin'] | 'metadata-document';
  /** Epoch seconds until which the secret before a rotation is accepted; `null`: there is none. */
  readonly previousSecretExpiresAt: number | null;
};

/** A new secret, and until when the one before is accepted, in epoch seconds. */
export interface RotatedSecret {
  readonly secret: string;
  readonly previousUntil: number;
}

/** Administers the clients of a store. */
export interface ClientAdministration {
  /**
   * Adds a client that never expires.
   * @param document RFC 7591 metadata; `client_id` may be chosen. Without `token_endpoint_auth_method` it is public
   * @returns what was registered, with the secret, which cannot be read again
   * @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri`
   */
  add(document: object): Promise<Readonly<Record<string, unknown>>>;
  /**
   * Changes the metadata of a client. Members that are not given stay; those that are `null` are removed.
   * @param changes RFC 7591 metadata, validated together with the rest as in `add`
   * @returns everything registered, with a secret if the client needs one now and had none; `null` when it is unknown
   * @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri`: nothing has changed then
   */
  update(id: string, changes: object): Promise<Readonly<Record<string, unknown>> | null>;
  /**
   * Replaces the secret of a client.
   * @param overlap seconds that the replaced secret is still accepted beside the new one; one replaced earlier is not any more
   * @returns the new secret, which cannot be read again; `null` when the client is unknown
   * @throws OAuthError `invalid_client_metadata` when it does not authenticate by a secret
   */
  rotateSecret(id: string, overlap: number): Promise<RotatedSecret | null>;
  /** Registered and added clients, and those of cached metadata documents, ordered by identifier: at most `limit` after `after`. */
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
  /**
   * Marks a client that registered itself or has a metadata document as verified: users are not warned that it is unverified. This
   * ends when its metadata changes. @param metadata as it was looked at
   * @returns `false` when the client is unknown, or its metadata is not this any more: nothing has changed then
   */
  verify(id: string, metadata: ListedClient['metadata']): Promise<boolean>;
  /** Takes `verify` back. @returns `false` when the client is unknown, or changes at the moment: nothing has changed then */
  unverify(id: string): Promise<boolean>;
  /** Removes a client with its grants, codes and transactions. @returns `false` when the client is unknown */
  remove(id: string): Promise<boolean>;
}

/** What client administration depends on: no running server. */
export type ClientAdministrationContext = StoreContext &
  Pick<ClientsContext['options'], 'issuer' | 'redirects'> & {
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
        previousSecret: null,
        managementHash: null,
        createdAt: clock(),
        lastUsedAt: null,
        disabledAt: null,
        enabledAt: null,
        verifiedAt: null,
        expiresAt: null,
      };
      if (!(await store.saveClient(client))) throw identifierTaken();
      events({ type: 'client.added', clientId: id });
      return { ...describeWhole(client, { secret, managementToken: null }) };
    },
    async update(id, changes) {
      const client = await store.findClient(id);
      if (client === null) return null;
      const metadata = readChangedMetadata(client, changes, redirects);
      const { update, secret } = prepareUpdate(client, metadata);
      if (!(await store.updateClient(id, update))) return null;
      // Who verified the client changes it now.
      if (client.verifiedAt !== null) await store.saveClientVerification(id, metadata, client.verifiedAt);
      events({ type: 'client.changed', clientId: id });
      return { ...describeWhole({ ...client, metadata }, { secret, managementToken: null }) };
    },
    async rotateSecret(id, overlap) {
      const client = await store.findClient(id);
      if (client === null) return null;
      if (client.secretHash === null) throw hasNoSecret(client);
      const secret = newSecret();
      const previousUntil = clock() + overlap;
      if (!(await store.rotateClientSecret(id, hashSecret(secret), previousUntil))) return null;
      events({ type: 'client.secret_rotated', clientId: id, previousUntil });
      return { secret, previousUntil };
    },
    list: (after = '', limit = 100) => listClients(store, after, limit),
    async find(id) {
      const record = await store.findClient(id);
      if (record !== null) return describeClient(record);
      const document = await store.findClientMetadataDocument(id);
      return document === null ? null : describeDocument(document);
    },
    disable: (id) => recorded('client.disabled', id, store.disableClient(id, clock())),
    enable: (id) => recorded('client.enabled', id, store.enableClient(id, clock())),
    verify: (id, metadata) => recorded('client.verified', id, saveVerification(id, metadata, clock())),
    unverify: (id) => recorded('client.unverified', id, saveVerification(id, null, null)),
    remove: (id) => recorded('client.removed', id, store.removeClient(id, clock())),
  };

  /** Records a change that took place. */
  async function recorded(
    type: `client.${'disabled' | 'enabled' | 'verified' | 'unverified' | 'removed'}`,
    clientId: string,
    change: Promise<boolean>,
  ): Promise<boolean> {
    const hasChanged = await change;
    if (hasChanged) events({ type, clientId });
    return hasChanged;
  }
  /** @param expected `null`: whatever it is */
  async function saveVerification(
    id: string,
    expected: ClientRecord['metadata'] | null,
    at: number | null,
  ): Promise<boolean> {
    const client = await store.findClient(id);
    if (client?.origin === 'administered') return false;
    if (client !== null) return store.saveClientVerification(id, expected ?? client.metadata, at);
    const document = await store.findClientMetadataDocument(id);
    const isExpected = expected === null || JSON.stringify(expected) === JSON.stringify(document?.metadata);
    return document !== null && isExpected
      ? store.saveClientMetadataDocumentVerification(id, document.digest, at)
      : false;
  }

  function checkFree(id: string): string {
    if (clients.has(id)) throw identifierTaken();
    return id;
  }
}

/** Stored clients and those of metadata documents, by ID. */
async function listClients(
  store: ClientAdministrationContext['store'],
  after: string,
  limit: number,
): ReturnType<ClientAdministration['list']> {
  const [records, documents] = await Promise.all([
    store.listClients(after, limit),
    store.listClientMetadataDocuments(after, limit),
  ]);
  if (documents.length === 0) return records.map(describeClient);
  return [...records.map(describeClient), ...documents.map(describeDocument)]
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
    .slice(0, limit);
}

function describeClient({
  secretHash: _secret,
  previousSecret: previous,
  managementHash: _management,
  enabledAt: _enabled,
  ...listed
}: ClientRecord): ListedClient {
  return { ...listed, previousSecretExpiresAt: previous?.expiresAt ?? null };
}

function describeDocument(document: ClientMetadataDocumentRecord): ListedClient {
  const { url: id, metadata, fetchedAt: createdAt, lastUsedAt, expiresAt, verifiedAt } = document;
  const times = { createdAt, lastUsedAt, disabledAt: null, expiresAt, verifiedAt };
  return { id, origin: 'metadata-document', metadata, ...times, previousSecretExpiresAt: null };
}
/** The metadata with its changes. Members that were derived from changed ones are derived again. */
function mergeMetadata({ id, metadata }: ClientRecord, changes: object): object {
  const { client_id: given = id } = changes as { readonly client_id?: unknown };
  if (given !== id) throw invalidMetadata('client_id: cannot be changed; add another client');
  const { response_types: responses, application_type: application, ...rest } = metadata;
  const merged = {
    ...rest,
    ...(!('grant_types' in changes) && { response_types: responses }),
    ...(!('redirect_uris' in changes) && { application_type: application }),
    ...changes,
  };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null));
}

/** The software statement that the client registered with stays; an administrator may know better than it. */
function readChangedMetadata(
  client: ClientRecord,
  changes: object,
  redirects: RedirectPolicy,
): ClientRecord['metadata'] {
  const { software_statement: registered } = client.metadata;
  const merged = mergeMetadata(client, changes);
  const { software_statement: statement, ...document } = merged as { readonly software_statement?: unknown };
  if (registered === undefined || statement !== registered)
    return readPreRegisteredMetadata(merged, redirects);
  return { ...readPreRegisteredMetadata(document, redirects), software_statement: registered };
}

function hasNoSecret({ metadata: { token_endpoint_auth_method: method } }: ClientRecord): OAuthError {
  return invalidMetadata(`token_endpoint_auth_method: is ${method}, so the client has no secret to rotate`);
}
function identifierTaken(): OAuthError {
  return invalidMetadata('client_id: already in use by another client; remove that one first');
}
