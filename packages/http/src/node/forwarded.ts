/** Who a request is from when it came through proxies: only what proxies of this server's own say is believed. */
import type { IncomingHttpHeaders } from 'node:http';
import { type CidrBlock, isInCidrBlock, parseCidrBlock } from '@portcullis/protocol';

/** What is known of the other end. */
interface ForwardedInfo {
  /** Its IP address; `undefined` when nobody knows it. */
  readonly address: string | undefined;
  /** Whether a proxy of this server's own passed the request on. */
  readonly isProxied: boolean;
  /** How that proxy says that it was spoken to; `null` when it does not say, or there is none. */
  readonly protocol: 'http' | 'https' | null;
}

/** @param peer the address at the other end of the connection */
export type ForwardedReader = (connection: string | undefined, headers: IncomingHttpHeaders) => ForwardedInfo;

/** One hop, as a header tells it. */
interface Hop {
  readonly address: string;
  readonly protocol: string | undefined;
}

/** More proxies than these are in nobody's network: of more, the nearest are read, since what is before them is made up. */
const MOST_HOPS = 20;

/**
 * @param proxies addresses and blocks (`10.0.0.0/8`) of the proxies in front of this server
 * @throws RangeError naming the one that is none
 * @see RFC 7239 §5.2 and §8.1
 */
export function createForwardedReader(proxies: readonly string[]): ForwardedReader {
  const blocks = proxies.map(readProxy);
  const isTrusted = (address: string) => blocks.some((block) => isInCidrBlock(address, block));
  return (connection, headers) => {
    if (connection === undefined || !isTrusted(connection))
      return { address: connection, isProxied: false, protocol: null };
    const hops = readHops(headers);
    // From the nearest on: whoever stands before the first stranger is that stranger's own word.
    const at = hops.findLastIndex(({ address }) => !isTrusted(address));
    const hop = hops[Math.max(at, 0)];
    const protocol = hop?.protocol ?? lastOf(headers['x-forwarded-proto']);
    return {
      address: hop !== undefined && parseCidrBlock(hop.address) !== null ? hop.address : connection,
      isProxied: true,
      protocol: protocol === 'http' || protocol === 'https' ? protocol : null,
    };
  };
}

function readProxy(text: string): CidrBlock {
  const block = parseCidrBlock(text);
  if (block === null)
    throw new RangeError(`${JSON.stringify(text)} is no address, and no block of addresses`);
  return block;
}

/**
 * The hops of the one header there is, the client's first. With both, the proxy wrote one of them and passed on what a client
 * made up in the other: unless they agree, neither is believed.
 */
function readHops(headers: IncomingHttpHeaders): readonly Hop[] {
  const standard = readStandard(headers.forwarded);
  const usual = readUsual(headers['x-forwarded-for']);
  if (headers.forwarded === undefined) return usual;
  if (headers['x-forwarded-for'] === undefined) return standard;
  const agree =
    usual.length === standard.length && usual.every(({ address }, i) => address === standard[i]?.address);
  return agree ? standard : [];
}

function readUsual(header: string | readonly string[] | undefined): readonly Hop[] {
  return elementsOf(header).map((element) => ({ address: addressOf(element), protocol: undefined }));
}

function readStandard(header: string | readonly string[] | undefined): readonly Hop[] {
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
    .slice(-MOST_HOPS)
    .map((part) => part.trim());
}

/** Without a port and brackets. */
function addressOf(node: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(node)?.[1];
  return bracketed ?? (/^[\d.]+:\d+$/.test(node) ? (node.split(':', 1)[0] ?? '') : node);
}

function lastOf(header: string | readonly string[] | undefined): string | undefined {
  return elementsOf(header).at(-1)?.toLowerCase();
}
