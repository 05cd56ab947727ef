/** Scopes: read from and written to the wire, compared, united, and widened by what a broad one implies. */
import { OAuthError } from './errors.ts';

/** Scope tokens, each once, in the order of their first appearance. */
export type Scopes = readonly string[];

/** Which narrow scopes a broad one implies, directly: `{ 'notes:admin': ['notes:write'], 'notes:write': ['notes:read'] }`. */
export type ScopeHierarchy = Readonly<Record<string, Scopes>>;

/** scope-token = 1*( %x21 / %x23-5B / %x5D-7E ) */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** More than any honest request carries; keeps the cost of a hostile one small. */
const MOST_SCOPES = 100;

/** Whether the text is one well-formed scope. @see RFC 6749 §3.3 */
export function isScope(text: string): boolean {
  return SCOPE_TOKEN.test(text);
}

/**
 * Reads a space-separated `scope` value.
 * @throws OAuthError `invalid_scope` when a token is malformed or there are more than 100.
 * @see RFC 6749 §3.3
 */
export function readScopes(text: string): Scopes {
  const scopes = split(text);
  if (scopes.length > MOST_SCOPES) {
    throw new OAuthError('invalid_scope', `Ask for at most ${MOST_SCOPES} scopes at once.`);
  }
  if (!scopes.every(isScope)) {
    throw new OAuthError('invalid_scope', 'A scope holds a character that is not allowed in it.');
  }
  return scopes;
}

/** Reads the `scope` parameter of a request; `null` when it is left out or names nothing. Throws as `readScopes`. */
export function readRequestedScopes(parameter: string | undefined): Scopes | null {
  if (parameter === undefined) return null;
  const scopes = readScopes(parameter);
  return scopes.length === 0 ? null : scopes;
}

/**
 * Reads a `scope` value that somebody else wrote, leaving out what is not a scope. Only a space separates: another
 * separator would make two scopes of what its writer granted as one.
 */
export function readLenientScopes(text: string): Scopes {
  return split(text).filter(isScope);
}

/** Writes scopes as a `scope` value. */
export function formatScopes(scopes: Scopes): string {
  return scopes.join(' ');
}

/** All scopes of both, the first's first. */
export function unionScopes(first: Scopes, second: Scopes): Scopes {
  return [...new Set([...first, ...second])];
}

/** The scopes of the first that the second holds too. */
export function intersectScopes(first: Scopes, second: Scopes): Scopes {
  const held = new Set(second);
  return first.filter((scope) => held.has(scope));
}

/** The needed scopes that are not granted, the hierarchy considered. Empty: all are there. */
export function missingScopes(needed: Scopes, granted: Scopes, hierarchy: ScopeHierarchy = {}): Scopes {
  const missing = needed.filter((scope) => !granted.includes(scope));
  if (missing.length === 0) return missing;
  const held = impliedScopes(granted, hierarchy);
  return missing.filter((scope) => !held.has(scope));
}

/** The granted scopes and all that they imply, to any depth; circles in the hierarchy do no harm. */
export function impliedScopes(granted: Scopes, hierarchy: ScopeHierarchy): ReadonlySet<string> {
  const held = new Set<string>(granted);
  for (const scope of held) {
    // A set grows while it is walked, and the walk reaches what was added.
    for (const implied of directlyImplied(scope, hierarchy)) held.add(implied);
  }
  return held;
}

/** A scope named `constructor` or `__proto__` implies nothing that the hierarchy does not say itself. */
function directlyImplied(scope: string, hierarchy: ScopeHierarchy): Scopes {
  return Object.hasOwn(hierarchy, scope) ? (hierarchy[scope] ?? []) : [];
}

function split(text: string): Scopes {
  return [...new Set(text.split(' ').filter((part) => part !== ''))];
}
