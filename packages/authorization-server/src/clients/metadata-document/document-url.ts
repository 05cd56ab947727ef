/** Validation of client identifiers that are URLs (CIMD): spelling, SSRF guard, and trusted hosts. */
import { isLoopbackHost, isPublicHost, readWebUrl } from '@portcullis/protocol';

/** Hosts whose metadata documents are accepted: `app.example` exactly, or `*.app.example` for all subdomains. */
export interface DocumentTrustPolicy {
  /** Only these; `null`: any. */
  readonly hosts: readonly string[] | null;
  /** Never these, even if the other list contains them. */
  readonly refusedHosts: readonly string[];
  /** Whether loopback hosts are accepted: for development. */
  readonly loopback: boolean;
}

/** The URL, or the issue. */
export type DocumentUrlResult = { readonly url: URL } | { readonly issue: string };

/**
 * Validates an identifier before anything is fetched. MUST be https with a path; MUST NOT contain dot segments, a fragment or
 * user information. Only the normalized spelling is accepted: another would be a different client with the same document.
 * @see draft-ietf-oauth-client-id-metadata-document §3
 */
export function validateDocumentUrl(id: string, policy: DocumentTrustPolicy): DocumentUrlResult {
  const url = readWebUrl(id);
  if (url === null) {
    return issue('must be a well-formed https URL, its host written plainly and without user information');
  }
  const isLocal = isLoopbackHost(url.hostname);
  if (url.protocol !== 'https:' && !(isLocal && policy.loopback)) return issue('must use https');
  if (id.includes('#')) return issue('must have no fragment');
  if (hasDotSegments(id)) return issue('must have no dot segments in its path');
  if (url.pathname === '/') return issue('must have a path');
  if (url.href !== id) return issue('must be written in its normal form');
  if (isLocal ? !policy.loopback : !isPublicHost(url.hostname)) return issue('must be on a public host');
  return isTrusted(url.hostname, policy) ? { url } : issue('is on a host that this server does not accept');
}

function issue(reason: string): DocumentUrlResult {
  return { issue: `The client_id ${reason}.` };
}

/** Checks the text: the parser would resolve them, even percent-encoded. */
function hasDotSegments(id: string): boolean {
  return /\/(?:\.|%2e){1,2}(?=[/?#]|$)/i.test(id.replace(/^[^:]+:\/\/[^/]*/, '').replace(/[?#].*$/, ''));
}

function isTrusted(host: string, { hosts, refusedHosts }: DocumentTrustPolicy): boolean {
  const named = (patterns: readonly string[]) => patterns.some((pattern) => matchesHost(pattern, host));
  return !named(refusedHosts) && (hosts === null || named(hosts));
}

/** Whether a host matches a pattern: `app.example` exactly, or `*.app.example`. */
export function matchesHost(pattern: string, host: string): boolean {
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern;
}

/** Whether a text is a host name, or a wildcard for its subdomains, in normalized spelling. */
export function isHostPattern(text: string): boolean {
  const host = text.replace(/^\*\./, '');
  return /^[^*]+$/.test(host) && readWebUrl(`https://${host}/`)?.hostname === host;
}
