/** Which URLs and addresses may be contacted: a law over what a name says and what it resolves to. */
import { isIP } from 'node:net';
import { isLoopbackHost, isPublicAddress, isPublicHost, isSecureUrl, readWebUrl } from '@portcullis/protocol';

/** What an operator allows besides https to public addresses. */
export interface OutboundPolicy {
  /** http and https to `localhost`, `127.0.0.1` and `[::1]`: for development on one computer. */
  readonly allowLoopback?: boolean;
  /** Origins that the operator has named: https to them may lead to any address. */
  readonly allowedPrivateOrigins?: readonly string[];
}

/** Where a URL may lead, once judged. */
export type OutboundDestination =
  | { readonly kind: 'public' | 'loopback' | 'inner'; readonly url: URL }
  | { readonly kind: 'refused'; readonly reason: string };

/** Judges a URL by itself. A name that looks public is judged again by what it resolves to. */
export function checkOutboundUrl(text: string, policy: OutboundPolicy): OutboundDestination {
  const url = readWebUrl(text);
  if (url === null) return refused('it is no well-formed http or https URL');
  if (!isSecureUrl(url)) return refused('it is not https');
  if (isLoopbackHost(url.hostname)) {
    return policy.allowLoopback === true ? { kind: 'loopback', url } : refused('it leads to this computer');
  }
  if (policy.allowedPrivateOrigins?.includes(url.origin) === true) return { kind: 'inner', url };
  if (!isPublicHost(url.hostname)) return refused('it leads into a private network');
  return { kind: 'public', url };
}

/**
 * Judges the addresses that a name resolved to: one that is not allowed condemns the whole answer, because whoever
 * mixes them wants one to be overlooked.
 */
export function areAddressesAllowed(
  kind: 'public' | 'loopback' | 'inner',
  addresses: readonly string[],
): boolean {
  if (addresses.length === 0) return false;
  switch (kind) {
    case 'public':
      return addresses.every(isPublicAddress);
    case 'loopback':
      return addresses.every(
        (address) => address === '::1' || (isIP(address) === 4 && address.startsWith('127.')),
      );
    case 'inner':
      return addresses.every((address) => isIP(address) !== 0);
  }
}

function refused(reason: string): OutboundDestination {
  return { kind: 'refused', reason };
}
