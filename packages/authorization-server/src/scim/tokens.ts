/** Bearer tokens of provisioning connections: creating, listing and revoking them, and authenticating a request by one. */
import type { HttpRequest } from '@portcullis/http';
import { OAuthError } from '@portcullis/protocol';
import { readBearerToken } from '../clients/authorize-registration.ts';
import type { StoreContext } from '../context.ts';
import { hashSecret, newIdentifier, newSecret } from '../secrets.ts';
import type { ProvisioningTokenRecord } from '../store/index.ts';
import type { Connection, ScimContext } from './operations.ts';

/** A token without its secret, which cannot be read again. */
export type ListedProvisioningToken = Omit<ProvisioningTokenRecord, 'hash'>;

/** Administers the tokens with which identity providers provision users by SCIM. */
export interface ProvisioningTokenAdministration {
  /**
   * Creates one for the connection of an identity provider. Several may be valid, so that one replaces another without a pause.
   * @param identityProvider its identifier in the configuration @param seconds until it expires
   */
  create(
    identityProvider: string,
    note: string,
    seconds: number,
  ): Promise<ListedProvisioningToken & { readonly token: string }>;
  /** Those that have not expired, ordered by creation. */
  list(): Promise<readonly ListedProvisioningToken[]>;
  /** @returns `false` for an unknown one */
  revoke(id: string): Promise<boolean>;
}

/** Characters of the longest note. */
const LONGEST_NOTE = 200;

/** Works with or without a running server. */
export function createProvisioningTokenAdministration(
  context: StoreContext,
): ProvisioningTokenAdministration {
  const { store, clock, events } = context;
  return {
    async create(identityProvider, note, seconds) {
      const token = newSecret();
      const createdAt = clock();
      // What every database can store.
      const text = note.slice(0, LONGEST_NOTE).toWellFormed().replaceAll('\0', '');
      const listed = { id: newIdentifier('scim'), identityProvider, note: text, createdAt };
      const record = { ...listed, expiresAt: createdAt + seconds };
      await store.saveProvisioningToken({ ...record, hash: hashSecret(token) });
      events({ type: 'scim.token_created', identityProvider, tokenId: record.id });
      return { ...record, token };
    },
    async list() {
      const records = await store.listProvisioningTokens(clock());
      return records.map(({ hash: _hash, ...listed }) => listed);
    },
    async revoke(id) {
      const isRevoked = await store.revokeProvisioningToken(id);
      if (isRevoked) events({ type: 'scim.token_revoked', tokenId: id });
      return isRevoked;
    },
  };
}

/** @throws OAuthError `invalid_token`: a request without a live token of a provider that still provisions */
export async function authenticateConnection(
  { store, clock, options }: ScimContext,
  request: HttpRequest,
): Promise<Connection> {
  const token = readBearerToken(request);
  const record = token === null ? null : await store.findProvisioningToken(hashSecret(token), clock());
  const identityProvider =
    record === null ? undefined : options.identityProviders.get(record.identityProvider);
  if (record === null || identityProvider === undefined || identityProvider.scim === null) {
    throw new OAuthError(
      'invalid_token',
      'Send a token of portcullis scim tokens create as a bearer token.',
      {
        reason:
          record === null
            ? 'SCIM: no live token'
            : `SCIM: the identity provider ${record.identityProvider} is not configured to provision`,
      },
    );
  }
  return { identityProvider, tokenId: record.id };
}
