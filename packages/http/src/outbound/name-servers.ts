/** Resolves host names that clients choose: by this server's name servers, each name independently of others, in limited time. */
import { randomBytes } from 'node:crypto';
import { lookup, Resolver } from 'node:dns/promises';
import { isLoopbackHost } from '@portcullis/protocol';
import { OutboundError } from './outbound-error.ts';

/** Resolves a host name to addresses. @throws the system's error, or OutboundError `egress` */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

/** Resolves by the system, with its hosts file and everything else that is configured there. */
export const resolveBySystem: ResolveHost = async (hostname) => {
  const addresses = await lookup(hostname, { all: true, order: 'verbatim' });
  return addresses.map(({ address }) => address);
};

/** Codes of a name server for a name or address that does not exist; every other one is its own failure. */
const DEFINITE: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA']);

/**
 * Creates a resolver for host names that clients choose. The system's own resolver blocks one of two threads for each name:
 * two name servers that never respond would keep all other names of this process waiting.
 * It asks name servers only, not the hosts file; loopback names are left to the system.
 * The function throws OutboundError `egress` when the name servers do not respond, or know no name at all.
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
    // Name servers without a way out often deny every name.
    if (!(await knowsRoot(query.resolver))) throw new OutboundError('egress', NO_NAME_SERVER, errors[0]);
    throw errors[0];
  };
}

/** Codes of a name server that responds, but does not resolve the name: the name's own servers may have failed. */
const REFUSING: ReadonlySet<string> = new Set(['ESERVFAIL', 'EREFUSED']);

/** Whether the name servers decide about a name that none of them can have cached. */
async function resolvesOthers(resolver: Resolver): Promise<boolean> {
  return resolver.resolve4(`${randomBytes(12).toString('hex')}.com`).then(
    () => true,
    (error: unknown) => DEFINITE.has(codeOf(error)),
  );
}

const NO_NAME_SERVER = 'The name servers of this server do not respond, or know public names only in part.';

function startQuery(timeout: number, servers: readonly string[] | undefined) {
  // Each try waits longer than the one before: three of them fit.
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
