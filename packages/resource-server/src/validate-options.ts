/** Validates the options of a guard; each issue says what to write instead. */
import { isScope, issuerError, JWS_ALGORITHMS, numberIssues, type Scopes } from '@portcullis/protocol';
import type { DpopOptions } from './dpop/dpop-options.ts';
import type { StreamOptions } from './options.ts';
import { type AllowedOrigins, hostnameOf, isOrigin } from './origin-policy.ts';
import { comparablePath } from './request-path.ts';

/** Validates the options of DPoP. */
export function validateDpop({ algorithms, window, nonces }: DpopOptions, issues: string[]): void {
  for (const algorithm of algorithms ?? []) {
    if (!Object.hasOwn(JWS_ALGORITHMS, algorithm))
      issues.push(`dpop.algorithms: ${String(algorithm)} cannot be allowed`);
  }
  if (algorithms?.length === 0) issues.push('dpop.algorithms must name at least one');
  if (nonces !== undefined && nonces.secret.length < 32)
    issues.push('dpop.nonces.secret must be 32 bytes or more');
  if (nonces?.previousSecrets?.some(({ length }) => length < 32) === true)
    issues.push('dpop.nonces.previousSecrets must be 32 bytes or more each');
  issues.push(...numberIssues({ 'dpop.window': window, 'dpop.nonces.lifetime': nonces?.lifetime }, 1));
}

/** Validates the options of streams. */
export function validateStreams(
  { grace, every, endedGrants }: Required<StreamOptions>,
  issues: string[],
): void {
  if (typeof endedGrants !== 'function') issues.push('streams.endedGrants must be a function');
  issues.push(...numberIssues({ 'streams.grace': grace }));
  // Timers are limited to 31 bits of milliseconds.
  if (!(typeof every === 'number' && every > 0 && every <= 86_400))
    issues.push('streams.every must be more than 0 seconds, and a day at most');
}

/** `offline_access` belongs to the authorization server, not to a resource. */
export function validateScopes(lists: readonly Scopes[], issue: (text: string) => void): void {
  if (!lists.every(Array.isArray)) issue("scopes must be lists, such as ['notes:read']");
  for (const scope of new Set(lists.flat())) {
    if (!isScope(scope)) issue(`scopes: ${JSON.stringify(scope)} is not a scope`);
    if (scope === 'offline_access') issue('scopes: offline_access is not a scope of a resource');
  }
}

/** At least one authorization server is REQUIRED. @see RFC 9728 §2, seed 2.1 */
export function validateIssuers(issuers: readonly string[], issue: (text: string) => void): void {
  if (issuers.length === 0) issue('authorizationServers must name at least one');
  for (const issuer of issuers) {
    const wrong = issuerError(issuer);
    if (wrong !== null) issue(`authorizationServers: ${JSON.stringify(issuer)} ${wrong}`);
  }
}

/** Requests are matched to resources by path, so paths must be unique, and read the same by all routers. */
export function validatePaths(
  resources: readonly { readonly path: string; readonly resource: string }[],
  issues: string[],
): void {
  const seen = new Set<string>();
  for (const { path, resource } of resources) {
    if (seen.has(path)) issues.push(`resources: ${resource} has the same path as another`);
    seen.add(path);
    if (resources.length > 1 && comparablePath(new URL(resource).pathname) === null)
      issues.push(`resources: the path of ${resource} must be plain, such as /mcp/admin`);
  }
}

/** An origin or host in any other spelling than a browser's would never match. @see RFC 6454 §6.2 */
export function validateOriginsAndHosts(
  { origins, hosts }: { readonly origins?: AllowedOrigins; readonly hosts?: readonly string[] },
  issues: string[],
): void {
  if (origins !== undefined && origins !== 'any') {
    if (!Array.isArray(origins)) issues.push("origins must be 'any' or a list");
    else
      for (const origin of origins)
        if (!isOrigin(origin))
          issues.push(`origins: ${JSON.stringify(origin)} is not an origin, such as https://app.example`);
  }
  for (const host of hosts ?? [])
    if (hostnameOf(host) !== host)
      issues.push(`hosts: ${JSON.stringify(host)} must be a name in lowercase, without a port`);
}
