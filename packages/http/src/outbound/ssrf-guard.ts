/** SSRF guard: decides which URLs, and which addresses that their names resolve to, outbound requests may contact. */
import { isIP } from 'node:net';
import { isLoopbackHost, isPublicAddress, isPublicHost, isSecureUrl, readWebUrl } from '@portcullis/protocol';

/** What the operator allows in addition to https to public addresses. */
export interface OutboundPolicy {
  /** Allows http and https to `localhost`, `127.0.0.1` and `[::1]`, for development. */
  readonly allowLoopback?: boolean;
  /** Origins that may resolve to private addresses, over https. */
  readonly allowedPrivateOrigins?: readonly string[];
}

/** The decision about a URL, by the network that it may reach. */
export type OutboundDestination =
  | { readonly kind: 'public' | 'loopback' | 'private'; readonly url: URL }
  | { readonly kind: 'blocked'; readonly reason: string };

/**
 * Checks a URL by itself. What a public name resolves to must be checked with `areAddressesAllowed`. @see OWASP SSRF
 * Prevention
 */
export function checkOutboundUrl(text: string, policy: OutboundPolicy): OutboundDestination {
  const url = readWebUrl(text);
  if (url === null) return blocked('it is not a well-formed http or https URL');
  if (!isSecureUrl(url)) return blocked('it is not https');
  if (isLoopbackHost(url.hostname)) {
    return policy.allowLoopback === true ? { kind: 'loopback', url } : blocked('it leads to this computer');
  }
  if (policy.allowedPrivateOrigins?.includes(url.origin) === true) return { kind: 'private', url };
  if (!isPublicHost(url.hostname)) return blocked('it leads into a private network');
  return { kind: 'public', url };
}

/**
 * Checks the addresses that a name resolved to. One disallowed address blocks all of them: a mix of public and
 * private addresses is an attempt at DNS rebinding.
 */
export function areAddressesAllowed(
  kind: 'public' | 'loopback' | 'private',
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
    case 'private':
      return addresses.every((address) => isIP(address) !== 0);
  }
}

function blocked(reason: string): OutboundDestination {
  return { kind: 'blocked', reason };
}
