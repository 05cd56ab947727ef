/** Egress proxy: tunnels by CONNECT, to addresses that were checked here, or to names that the operator allows. */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { isInCidrBlock, parseCidrBlock } from '@portcullis/protocol';
import { loadNodeHttps, nodeHttp } from '../node/node-http.ts';
import { OutboundError } from './outbound-error.ts';

/** The proxy of a network without direct egress. It is never used for loopback hosts. */
export interface EgressProxy {
  /** `http:` or `https:`, with user and password if required. */
  readonly url: string;
  /**
   * Hosts reached directly, as in `NO_PROXY`: `internal.example` or `.example` with their subdomains, addresses and blocks
   * (`10.0.0.0/8`) for URLs with an address, each with a port (`internal.example:8443`) for that one only; `*` for all.
   */
  readonly bypass?: readonly string[];
  /**
   * Whether the proxy may resolve a host name. Names from untrusted sources must not be: one that resolves to a private
   * address of the proxy's network would bypass the SSRF guard. Names of `allowedPrivateOrigins` always may be.
   */
  readonly mayResolve?: (hostname: string) => boolean;
}

/** The value of a proxy variable, such as `HTTPS_PROXY`, in upper or lower case; empty without one. */
export function readProxyVariable(
  environment: Readonly<Record<string, string | undefined>>,
  name: string,
): string {
  return (environment[name.toLowerCase()] || environment[name] || '').trim();
}

/** The hosts of `NO_PROXY`, as `EgressProxy` has them. */
export function readNoProxy(environment: Readonly<Record<string, string | undefined>>): string[] {
  return readProxyVariable(environment, 'NO_PROXY')
    .split(/[\s,]+/)
    .filter((host) => host !== '');
}

/** Whether requests to the host of a URL go through the proxy. */
export function usesProxy(url: URL, { bypass = [] }: EgressProxy): boolean {
  return !bypass.some((pattern) => isBypassed(url, pattern.trim().toLowerCase()));
}

function isBypassed({ hostname, port, protocol }: URL, pattern: string): boolean {
  if (pattern === '*') return true;
  const { host, onlyPort } = splitPattern(pattern);
  const ownPort = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  if (onlyPort !== null && onlyPort !== ownPort) return false;
  const block = parseCidrBlock(host);
  if (block !== null) return isInCidrBlock(withoutBrackets(hostname), block);
  const domain = host.replace(/^\*?\./, '');
  return hostname === domain || hostname.endsWith(`.${domain}`);
}

/** An IPv6 address has a port only after brackets. */
function splitPattern(pattern: string): { readonly host: string; readonly onlyPort: string | null } {
  const whole = { host: withoutBrackets(pattern), onlyPort: null };
  if (parseCidrBlock(whole.host) !== null) return whole;
  const [, host, onlyPort] = /^(.+):(\d+)$/.exec(pattern) ?? [];
  return host === undefined || onlyPort === undefined ? whole : { host: withoutBrackets(host), onlyPort };
}

/** A host as sockets take it: an IPv6 address without its brackets. */
export function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}

/**
 * Opens a tunnel. The error is `egress` if the proxy is unreachable or refuses this server, `unreachable` if it cannot reach the
 * target.
 * @param target a host name, or an address
 * @throws OutboundError
 */
export async function openTunnel(
  proxy: string,
  target: string,
  port: string,
  signal: AbortSignal,
): Promise<Duplex> {
  const { protocol, hostname, port: proxyPort, username, password } = new URL(proxy);
  const authority = `${isIP(target) === 6 ? `[${target}]` : target}:${port}`;
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const options = {
    method: 'CONNECT',
    host: withoutBrackets(hostname),
    port: proxyPort || (protocol === 'https:' ? 443 : 80),
    path: authority,
    headers: {
      host: authority,
      ...(username !== '' && {
        'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}`,
      }),
    },
    agent: false,
    signal,
  } as const;
  const request = protocol === 'https:' ? loadNodeHttps().request(options) : nodeHttp.request(options);
  return new Promise((resolve, reject) => {
    const fail = (cause?: unknown) =>
      reject(new OutboundError('egress', 'The egress proxy could not be reached.', cause));
    request.once('connect', ({ statusCode = 0 }: IncomingMessage, socket: Duplex, head: Buffer) => {
      // Node detaches the socket with this event, so an abort must destroy it here.
      signal.addEventListener('abort', () => socket.destroy(), { once: true });
      const issue = tunnelIssue(statusCode);
      if (issue === null && head.length === 0) return resolve(socket);
      socket.destroy();
      reject(issue ?? new OutboundError('unreachable', 'The egress proxy sent data before the target.'));
    });
    request.once('error', fail);
    request.once('close', () => fail());
    request.end();
  });
}

function tunnelIssue(status: number): OutboundError | null {
  if (status >= 200 && status < 300) return null;
  return status === 407
    ? new OutboundError('egress', 'The egress proxy asks for other credentials (407).')
    : new OutboundError('unreachable', `The egress proxy did not connect (${status}).`);
}
