/** Scopes: parsing, formatting, comparison, and hierarchies in which one scope implies others. */
import { OAuthError } from './errors.ts';
import { createLruCache } from './lru-cache.ts';

/** Scope tokens without duplicates, in the order of their first appearance. */
export type Scopes = readonly string[];

/** The scopes that a scope directly implies: `{ 'notes:admin': ['notes:write'], 'notes:write': ['notes:read'] }`. */
export type ScopeHierarchy = Readonly<Record<string, Scopes>>;

/** scope-token = 1*( %x21 / %x23-5B / %x5D-7E ) */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** More than the metadata of a server lists, all of which clients may request; limits the cost of a hostile request. */
const MOST_SCOPES = 1000;
/** Characters of all together: a token with more would not fit into a request header. */
const MAX_SCOPE_TEXT = 10_000;

/** Whether the text is a well-formed scope token. @see RFC 6749 §3.3 */
export function isScope(text: string): boolean {
  return SCOPE_TOKEN.test(text);
}

/**
 * Parses a space-separated `scope` value.
 * @throws OAuthError `invalid_scope` if a token is malformed, or there are more than 1000 or 10,000 characters
 * @see RFC 6749 §3.3
 */
export function readScopes(text: string): Scopes {
  const known = cache.get(text);
  if (known !== undefined) return known;
  const scopes = Object.freeze(split(text));
  if (scopes.length > MOST_SCOPES || text.length > MAX_SCOPE_TEXT) {
    const most = `${MOST_SCOPES} scopes and ${MAX_SCOPE_TEXT} characters`;
    throw new OAuthError('invalid_scope', `Ask for at most ${most} at once.`);
  }
  if (!scopes.every(isScope)) {
    throw new OAuthError('invalid_scope', 'A scope contains a character that is not allowed.');
  }
  if (text.length <= LONGEST_CACHED) cache.set(text, scopes);
  return scopes;
}

/** Clients request the same scopes again and again; the lists are frozen because they are shared. */
const cache = createLruCache<Scopes>({ entries: 200 });
/** Characters. */
const LONGEST_CACHED = 2000;

/** Parses the `scope` parameter of a request; `null` if it is omitted or empty. Throws as `readScopes`. */
export function readRequestedScopes(parameter: string | undefined): Scopes | null {
  if (parameter === undefined) return null;
  const scopes = readScopes(parameter);
  return scopes.length === 0 ? null : scopes;
}

/**
 * Parses a `scope` value from another party, dropping malformed tokens. Only a space separates: any other separator
 * would turn one granted scope into two.
 */
export function readLenientScopes(text: string): Scopes {
  return split(text).filter(isScope);
}

/** Formats scopes as a `scope` value. */
export function formatScopes(scopes: Scopes): string {
  return scopes.join(' ');
}

/** The union of two lists, in order. */
export function unionScopes(first: Scopes, second: Scopes): Scopes {
  return [...new Set([...first, ...second])];
}

/** The scopes of the first list that are also in the second. */
export function intersectScopes(first: Scopes, second: Scopes): Scopes {
  const others = new Set(second);
  return first.filter((scope) => others.has(scope));
}

/**
 * The needed scopes that are not granted, directly or by implication. Empty if all are.
 * @example
 * ```ts
 * import { missingScopes } from '@portcullis/protocol';
 *
 * const hierarchy = { 'notes:write': ['notes:read'] };
 * console.log(missingScopes(['notes:read', 'admin'], ['notes:write'], hierarchy).join(' ')); // admin
 * ```
 */
export function missingScopes(needed: Scopes, granted: Scopes, hierarchy: ScopeHierarchy = {}): Scopes {
  // Mostly both are the same list, so that nothing has to be searched for.
  const missing = needed.filter((scope, index) => granted[index] !== scope && !granted.includes(scope));
  if (missing.length === 0) return missing;
  const implied = impliedScopes(granted, hierarchy);
  return missing.filter((scope) => !implied.has(scope));
}

/** The granted scopes and all that they imply, transitively. Cycles in the hierarchy are harmless. */
export function impliedScopes(granted: Scopes, hierarchy: ScopeHierarchy): ReadonlySet<string> {
  const scopes = new Set<string>(granted);
  for (const scope of scopes) {
    // The loop also visits members that are added while it runs.
    for (const implied of directlyImplied(scope, hierarchy)) scopes.add(implied);
  }
  return scopes;
}

/** Only own properties count, so that a scope named `constructor` or `__proto__` implies nothing. */
function directlyImplied(scope: string, hierarchy: ScopeHierarchy): Scopes {
  return Object.hasOwn(hierarchy, scope) ? (hierarchy[scope] ?? []) : [];
}

function split(text: string): Scopes {
  return [...new Set(text.split(' ').filter((part) => part !== ''))];
}
