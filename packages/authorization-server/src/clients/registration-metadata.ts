/** A registration in words: what is judged when it comes in, and what its client is told. */
import {
  type ClientMetadata,
  OAuthError,
  openRegistrationPolicy,
  type RegistrationPolicy,
  readClientMetadata,
} from '@portcullis/protocol';
import type { ServerOptions } from '../options.ts';
import type { ClientRecord } from '../store/index.ts';
import { clientAssertionAlgorithms, clientAuthenticationMethods } from './read-client-credentials.ts';

/** Judges what a stranger registers: the same law when it is new and when it changes. */
export type ReadRegistrationMetadata = (json: unknown) => ClientMetadata;

export function createReadRegistrationMetadata({
  redirects,
}: Pick<ServerOptions, 'redirects'>): ReadRegistrationMetadata {
  const policy: RegistrationPolicy = {
    ...openRegistrationPolicy,
    authenticationMethods: Object.keys(clientAuthenticationMethods),
    signingAlgorithms: clientAssertionAlgorithms,
    redirects,
  };
  return (json) => {
    const metadata = readClientMetadata(json, policy);
    if (Buffer.byteLength(JSON.stringify(metadata)) > LARGEST) {
      throw new OAuthError(
        'invalid_client_metadata',
        `Register less: no more than ${LARGEST / 1024} KiB are kept of a client.`,
      );
    }
    return metadata;
  };
}

/** Bytes as JSON. What a stranger leaves here stays for a day at least; the largest honest registration is a tenth of it. */
const LARGEST = 16 * 1024;

/** What is told once, or by whoever presented it: the store has only hashes. */
interface Told {
  readonly secret: string | null;
  readonly managementToken: string | null;
}

/** What a client is told of its registration. */
export type CreateRegistrationResponse = (client: ClientRecord, told: Told) => object;

/**
 * All metadata that is registered now, defaults and substitutions included. A secret MUST come with its expiry; 0: it has
 * none, for a client in use would be locked out by one.
 * @see RFC 7591 §3.2.1, RFC 7592 §3
 */
export function createRegistrationResponse({
  issuer,
}: Pick<ServerOptions, 'issuer'>): CreateRegistrationResponse {
  const place = `${new URL(issuer).origin}/register/`;
  return (client, { secret, managementToken }) => ({
    ...client.metadata,
    client_id: client.id,
    client_id_issued_at: client.createdAt,
    ...(secret !== null && { client_secret: secret, client_secret_expires_at: 0 }),
    ...(managementToken !== null && {
      registration_client_uri: place + client.id,
      registration_access_token: managementToken,
    }),
  });
}
