/** An authorized request to a server, and its owner: sealed IDs, limits, credentials and audit records are bound to it. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { sitePrefixOf } from '@portcullis/protocol';
import { isAnonymous, type Principal } from '@portcullis/resource-server';
import type { GatewayServer } from './server.ts';

/** The owner and the server of a request. */
export interface OwnedRequest {
  readonly server: GatewayServer;
  /** Verified by the guard for this server, or for one that merges it. */
  readonly principal: Principal;
  readonly owner: Owner;
  /** The client's network address; empty: not known. */
  readonly network: string;
}

/** A request to a server of the gateway, with its owner. */
export interface GatewayRequest extends OwnedRequest {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** Milliseconds of `performance.now()` at which it arrived. */
  readonly startedAt: number;
}

/** The headers of a client that a server's `forward` names. @param names in lower case */
export function namedHeaders(
  headers: IncomingHttpHeaders,
  names: readonly string[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );
}

/** The user of a client at one server. The same user with another client is another owner. */
export interface Owner {
  readonly issuer: string;
  readonly clientId: string;
  /** The user; without a token, the site of the client, for limits. */
  readonly subject: string;
  /** The resource of the server. */
  readonly resource: string;
  /** The address or command of its backend: what one backend issued is of no use at another. */
  readonly backend: string;
  /** Without a token. */
  readonly isAnonymous?: true;
}

/** The guard returns the same principal for each request with a token. */
const owners = new WeakMap<Principal, Owner>();

export function ownerOf(
  principal: Principal,
  { resource, pinnedBackend: backend }: Pick<GatewayServer, 'resource' | 'pinnedBackend'>,
  network: string,
): Owner {
  if (isAnonymous(principal)) return anonymousOwner({ resource, backend }, sitePrefixOf(network) ?? '');
  const known = owners.get(principal);
  if (known?.resource === resource && known.backend === backend) return known;
  const { issuer, clientId, subject } = principal;
  const owner = { issuer, clientId, subject, resource, backend };
  owners.set(principal, owner);
  return owner;
}

function anonymousOwner({ resource, backend }: Pick<Owner, 'resource' | 'backend'>, site: string): Owner {
  return { issuer: '', clientId: '', subject: site, resource, backend, isAnonymous: true };
}

/** What sealed IDs of requests without a token are bound to: any client that has such an ID, since its network address may change. */
export function anonymousOwnerOf(owner: Pick<Owner, 'resource' | 'backend'>): Owner {
  return anonymousOwner(owner, '');
}

/** A key that identifies an owner, unambiguously. */
export function ownerKey(owner: Owner): string {
  const known = keys.get(owner);
  if (known !== undefined) return known;
  const { issuer, clientId, subject, resource } = owner;
  const key = JSON.stringify([issuer, clientId, subject, resource]);
  keys.set(owner, key);
  return key;
}

const keys = new WeakMap<Owner, string>();

/** A key that identifies a user, with whatever client. */
export function userKey({ issuer, subject }: Pick<Owner, 'issuer' | 'subject'>): string {
  return JSON.stringify([issuer, subject]);
}
