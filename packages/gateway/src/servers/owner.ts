/** Whose request it is: what handles, limits, credentials and audit records are bound to. */
import type { Principal } from '@portcullis/resource-server';
import type { GatewayServer } from './server.ts';

/** The user of a client at one server. The same user with another client is another owner. */
export interface Owner {
  readonly issuer: string;
  readonly clientId: string;
  readonly subject: string;
  /** The resource of the server. */
  readonly resource: string;
}

export function ownerOf(
  { issuer, clientId, subject }: Principal,
  { resource }: Pick<GatewayServer, 'resource'>,
): Owner {
  return { issuer, clientId, subject, resource };
}

/** A key that identifies an owner, unambiguously. */
export function ownerKey({ issuer, clientId, subject, resource }: Owner): string {
  return JSON.stringify([issuer, clientId, subject, resource]);
}
