/** Resolves client-supplied host names: by this server's name servers, each name independently, with a time limit. */
import { randomBytes } from 'node:crypto';
import { lookup, Resolver } from 'node:dns/promises';
import { isLoopbackHost } from '@portcullis/protocol';
import { OutboundError } from './outbound-error.ts';

/** Resolves a host name to addresses. @throws the system's error, or OutboundError `egress` */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

/** Resolves by the system, including its hosts file and other configuration. */
export const resolveBySystem: ResolveHost = async (hostname) => {
  const addresses = await lookup(hostname, { all: true, order: 'verbatim' });
  return addresses.map(({ address }) => address);
};

/** Codes of a name server for a name or address that does not exist; all other codes are failures of the name server. */
const DEFINITE: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA']);

/**
 * Creates a resolver for client-supplied host names. The system's resolver blocks one of two threads for each name:
 * two unresponsive name servers would block all other lookups of this process.
 * It queries name servers only, not the hosts file; the system resolves loopback names.
 * The function throws OutboundError `egress` when the name servers do not respond, or resolve no name at all.
 * @param timeout milliseconds for all name servers together
 * @param servers addresses of name servers, instead of the system's
 */
export function createNameServerResolver(timeout: number, servers?: readonly string[]): ResolveHost {
  return async (hostname) => {
    if (isLoopbackHost(hostname)) return resolveBySystem(hostname);
    using query = startQuery(timeout, servers);
    const results = await Promise.allSettled([
      query.resolver.resolve4(hostname),
      query.resolver.resolve6(hostname),
    ]);
    const addresses = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    if (addresses.length > 0) return addresses;
    const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    const failure = errors.find((error: unknown) => !DEFINITE.has(codeOf(error)));
    if (failure !== undefined) {
      if (REFUSING.has(codeOf(failure)) && (await resolvesOthers(query.resolver))) throw failure;
      throw new OutboundError('egress', NO_NAME_SERVER, failure);
    }
    // Name servers without egress often deny every name.
    if (!(await knowsRoot(query.resolver))) throw new OutboundError('egress', NO_NAME_SERVER, errors[0]);
    throw errors[0];
  };
}

/** Codes of a name server that responds, but does not resolve the name: the name's own servers may have failed. */
const REFUSING: ReadonlySet<string> = new Set(['ESERVFAIL', 'EREFUSED']);

/**
 * Whether the name servers resolve a name that cannot be cached, or deny it (ENOTFOUND, ENODATA). Other responses, such as
 * SERVFAIL and REFUSED, count as failures of the name servers.
 */
async function resolvesOthers(resolver: Resolver): Promise<boolean> {
  return resolver.resolve4(`${randomBytes(12).toString('hex')}.com`).then(
    () => true,
    (error: unknown) => DEFINITE.has(codeOf(error)),
  );
}

const NO_NAME_SERVER = 'The name servers of this server do not respond, or know public names only in part.';

function startQuery(timeout: number, servers: readonly string[] | undefined) {
  // The timeout grows with each attempt: three attempts fit.
  const resolver = new Resolver({ timeout: Math.ceil(timeout / 8), tries: 3 });
  if (servers !== undefined) resolver.setServers(servers);
  const timer = setTimeout(() => resolver.cancel(), timeout);
  return { resolver, [Symbol.dispose]: () => clearTimeout(timer) };
}

async function knowsRoot(resolver: Resolver): Promise<boolean> {
  return resolver.resolveNs('.').then(
    (names) => names.length > 0,
    () => false,
  );
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
