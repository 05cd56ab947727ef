/** Freshness lifetime of a fetched document, by the rules for shared HTTP caches (RFC 9111). */

/** Seconds. */
export interface FreshnessPolicy {
  /** Upper limit of what the host allows. */
  readonly maxAge: number;
  /** Without cache headers. */
  readonly defaultAge: number;
}

/** Directives that forbid reuse without revalidation. */
const FORBIDDING = ['no-store', 'no-cache', 'private'];

/**
 * Seconds for which a response is fresh. An invalid header counts as stale.
 * @param now epoch seconds
 * @see RFC 9111 §4.2 and §5.2.2
 */
export function freshnessLifetime(headers: Headers, policy: FreshnessPolicy, now: number): number {
  if (headers.get('vary')?.includes('*') === true) return 0;
  const directives = readDirectives(headers.get('cache-control') ?? '');
  if (FORBIDDING.some((name) => directives.has(name))) return 0;
  const lifetime = lifetimeOf(directives, headers, now) ?? policy.defaultAge;
  const age = readSeconds(headers.get('age') ?? '0') ?? 0;
  return Math.max(0, Math.min(lifetime - age, policy.maxAge));
}

function lifetimeOf(directives: ReadonlyMap<string, string>, headers: Headers, now: number): number | null {
  const maxAge = directives.get('s-maxage') ?? directives.get('max-age');
  if (maxAge !== undefined) return readSeconds(maxAge) ?? 0;
  const expires = headers.get('expires');
  if (expires === null) return null;
  const end = Date.parse(expires);
  const date = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(end)
    ? 0
    : Math.floor(end / 1000) - (Number.isNaN(date) ? now : Math.floor(date / 1000));
}

/** The first of duplicate directives counts. @see RFC 9111 §4.2.1 */
function readDirectives(field: string): ReadonlyMap<string, string> {
  const pairs = field.split(',').map((part): [string, string] => {
    const [name = '', value = ''] = part.split('=', 2);
    return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, '$1')];
  });
  return new Map(pairs.toReversed());
}

function readSeconds(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}
