/** Determines the client address behind proxies: `Forwarded` and `X-Forwarded-*` are trusted only from trusted proxies. */
import type { IncomingHttpHeaders } from 'node:http';
import { type CidrBlock, isInCidrBlock, parseCidrBlock } from '@portcullis/protocol';

/** The client as reported by trusted proxies. */
interface ForwardedInfo {
  /** Its IP address; `undefined` if unknown. */
  readonly address: string | undefined;
  /** Whether a trusted proxy forwarded the request. */
  readonly isProxied: boolean;
  /** The scheme that the proxy reports; `null` without a proxy or a reported scheme. */
  readonly protocol: 'http' | 'https' | null;
}

/** @param remoteAddress the peer address of the connection */
export type ForwardedReader = (
  remoteAddress: string | undefined,
  headers: IncomingHttpHeaders,
) => ForwardedInfo;

/** One hop of the header. */
interface Hop {
  readonly address: string;
  readonly protocol: string | undefined;
}

/** Maximum number of hops read, nearest first; longer chains are forged by the client. */
const MAX_HOPS = 20;

/**
 * Creates a reader of forwarding headers.
 * @param proxies addresses and blocks (`10.0.0.0/8`) of trusted proxies
 * @throws RangeError naming an entry that is neither
 * @see RFC 7239 §5.2 and §8.1
 */
export function createForwardedReader(proxies: readonly string[]): ForwardedReader {
  const blocks = proxies.map(readProxy);
  const isTrusted = (address: string) => blocks.some((block) => isInCidrBlock(address, block));
  return (remoteAddress, headers) => {
    if (remoteAddress === undefined || !isTrusted(remoteAddress))
      return { address: remoteAddress, isProxied: false, protocol: null };
    const hops = readHops(headers);
    // Walk from the nearest hop outwards: everything before the first untrusted address was written by that client
    // itself.
    const at = hops.findLastIndex(({ address }) => !isTrusted(address));
    const hop = hops[Math.max(at, 0)];
    const protocol = hop?.protocol ?? elementsOf(headers['x-forwarded-proto']).at(-1)?.toLowerCase();
    return {
      address: hop !== undefined && parseCidrBlock(hop.address) !== null ? hop.address : remoteAddress,
      isProxied: true,
      protocol: protocol === 'http' || protocol === 'https' ? protocol : null,
    };
  };
}

function readProxy(text: string): CidrBlock {
  const block = parseCidrBlock(text);
  if (block === null)
    throw new RangeError(`${JSON.stringify(text)} is neither an IP address nor a CIDR block`);
  return block;
}

/**
 * Reads the hops of the header that is present, the client's first. If both are present, the proxy wrote one of them
 * and forwarded the other unchanged: they are trusted only if they agree.
 */
function readHops(headers: IncomingHttpHeaders): readonly Hop[] {
  const standard = readForwardedHeader(headers.forwarded);
  const legacy = readXForwardedFor(headers['x-forwarded-for']);
  if (headers.forwarded === undefined) return legacy;
  if (headers['x-forwarded-for'] === undefined) return standard;
  const agree =
    legacy.length === standard.length && legacy.every(({ address }, i) => address === standard[i]?.address);
  return agree ? standard : [];
}

function readXForwardedFor(header: string | readonly string[] | undefined): readonly Hop[] {
  return elementsOf(header).map((element) => ({ address: addressOf(element), protocol: undefined }));
}

function readForwardedHeader(header: string | readonly string[] | undefined): readonly Hop[] {
  return elementsOf(header).map((element) => {
    const pairs = element.split(';').map((pair): [string, string] => {
      const [name = '', value = ''] = pair.split('=', 2);
      return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, '$1')];
    });
    const members = new Map(pairs);
    return { address: addressOf(members.get('for') ?? ''), protocol: members.get('proto')?.toLowerCase() };
  });
}

function elementsOf(header: string | readonly string[] | undefined): readonly string[] {
  if (header === undefined) return [];
  const text = typeof header === 'string' ? header : header.join(',');
  return text
    .split(',')
    .slice(-MAX_HOPS)
    .map((part) => part.trim());
}

/** Removes port and brackets. */
function addressOf(node: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(node)?.[1];
  return bracketed ?? (/^[\d.]+:\d+$/.test(node) ? (node.split(':', 1)[0] ?? '') : node);
}
