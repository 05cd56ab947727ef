/** Egress: the proxy from the environment, and a check that well-known apps' hosts are reachable. */

import type { OutboundSettings } from '@portcullis/authorization-server';
import {
  createNameServerResolver,
  createOutboundFetch,
  OutboundError,
  type OutboundFetch,
  readNoProxy,
  readProxyVariable,
} from '@portcullis/http/outbound';
import type { ResolvedSettings } from '../settings/resolve.ts';
import type { Settings } from '../settings/schema.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Completes the setting `outbound` with `HTTPS_PROXY` and `NO_PROXY`, in upper or lower case. A proxy without a scheme
 * uses http.
 */
export function withEgressProxy(resolved: ResolvedSettings, environment: Environment): ResolvedSettings {
  const { outbound } = resolved.settings;
  const named = readProxyVariable(environment, 'HTTPS_PROXY');
  if (outbound.proxy !== undefined || named === '') return resolved;
  const proxy = named.includes('://') ? named : `http://${named}`;
  if (!/^https?:$/.test(URL.parse(proxy)?.protocol ?? '')) {
    const issue = 'HTTPS_PROXY must be an http or https URL, such as http://proxy.internal:3128';
    return { ...resolved, issues: [...resolved.issues, issue] };
  }
  const noProxy = readNoProxy(environment);
  return {
    ...resolved,
    settings: {
      ...resolved.settings,
      outbound: { ...outbound, proxy, noProxy: outbound.noProxy ?? noProxy },
    },
  };
}

/** Hosts of the metadata documents of Claude Code and Visual Studio Code. */
const WELL_KNOWN = ['claude.ai', 'vscode.dev'];

/** Hosts to check: the operator's, otherwise well-known ones; never hosts with a pinned document. */
function hostsToCheck({ metadataDocuments }: Pick<Settings, 'metadataDocuments'>): readonly string[] {
  if (metadataDocuments === false) return [];
  const {
    hosts = WELL_KNOWN,
    refusedHosts = [],
    pinned = [],
  } = metadataDocuments === true ? {} : metadataDocuments;
  const pinnedHosts = pinned.map((document) => URL.parse(String(document['client_id']))?.hostname);
  return hosts
    .filter((host) => !host.startsWith('*') && !refusedHosts.includes(host) && !pinnedHosts.includes(host))
    .slice(0, MAX_HOSTS);
}

const MAX_HOSTS = 5;
const TIMEOUT = 5000;

/** Sends a request to each host. @returns one sentence of advice; `null` if all are reachable. Never rejects. */
export async function checkEgress(
  settings: Pick<Settings, 'metadataDocuments'> & { readonly outbound: OutboundSettings },
): Promise<string | null> {
  const fetch = settings.outbound.fetch ?? createCheckFetch(settings.outbound);
  const results = await Promise.all(
    hostsToCheck(settings).map(async (host) => ({ host, failure: await tryToReach(host, fetch) })),
  );
  const failed = results.filter(({ failure }) => failure !== null);
  if (failed.length === 0) return null;
  const hosts = failed.map(({ host, failure }) => `${host} (${failure})`).join(', ');
  return `this server does not reach ${hosts}. Apps that identify themselves by a document there, as Claude Code and Visual Studio Code do, cannot sign in. Allow https to these hosts, name a proxy in HTTPS_PROXY or outbound.proxy, or pin the documents in metadataDocuments.pinned; see "Egress" in docs/operating.md`;
}

function createCheckFetch({ proxy, noProxy = [] }: OutboundSettings): OutboundFetch {
  return createOutboundFetch({
    timeout: TIMEOUT,
    resolve: createNameServerResolver(TIMEOUT / 2),
    // The operator or this program chose these hosts.
    ...(proxy !== undefined && { proxy: { url: proxy, bypass: noProxy, mayResolve: () => true } }),
  });
}

/** @returns the reason for a missing response; `null` on success */
async function tryToReach(host: string, fetch: OutboundFetch): Promise<string | null> {
  try {
    const response = await fetch(`https://${host}/`, { method: 'HEAD' });
    void response.body?.cancel();
    return null;
  } catch (error) {
    return error instanceof OutboundError ? FAILURES[error.reason] : String(error);
  }
}

const FAILURES: Readonly<Record<OutboundError['reason'], string>> = {
  address: 'its name resolves to a private network',
  egress: 'no name server, route or proxy',
  unreachable: 'no connection',
  timeout: 'no response in time',
  size: 'an invalid response',
  encoding: 'an invalid response',
};
