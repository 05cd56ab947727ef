/**
 * IP addresses and host names: which are public, which are private (SSRF), and which network they belong to (rate
 * limits).
 */

/** IPv4 blocks that are not globally reachable, as first address and prefix length. @see IANA IPv4 special-purpose registry */
const INNER_IPV4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8], // private use
  ['100.64.0.0', 10], // shared address space
  ['127.0.0.0', 8], // loopback
  ['169.254.0.0', 16], // link-local, where clouds answer with credentials
  ['172.16.0.0', 12], // private use
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16], // private use
  ['198.18.0.0', 15], // benchmarking
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved and broadcast
];

/** Blocks of 2000::/3 that are not globally reachable; nothing outside of it is. @see IANA IPv6 special-purpose registry */
const INNER_IPV6: readonly (readonly [string, number])[] = [
  ['2001::', 23], // protocol assignments, Teredo among them
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4, which hides an IPv4 address
  ['3fff::', 20], // documentation
];

/** Prefixes of 96 bits that embed an IPv4 address: mapped addresses, and NAT64. */
const EMBEDDING_IPV6 = ['::ffff:0:0', '64:ff9b::'];

/**
 * Names reserved for a machine or local network. @see RFC 6761, RFC 6762, RFC 8375, ICANN's reservation of .internal
 */
const INNER_NAMES = ['localhost', 'local', 'internal', 'home.arpa'];

/**
 * Whether an IP address is globally reachable. `false` for anything but an address in its usual spelling (dotted
 * IPv4, IPv6 without brackets and zone).
 * @see RFC 6890
 */
export function isPublicAddress(address: string): boolean {
  const ipv4 = readIpv4(address);
  if (ipv4 !== null) return !INNER_IPV4.some(([block, length]) => begins(ipv4, readIpv4(block), length));
  const ipv6 = readIpv6(address);
  if (ipv6 === null) return false;
  if (EMBEDDING_IPV6.some((block) => begins(ipv6, readIpv6(block), 96))) {
    return isPublicAddress(ipv6.slice(12).join('.'));
  }
  return (
    begins(ipv6, readIpv6('2000::'), 3) &&
    !INNER_IPV6.some(([block, length]) => begins(ipv6, readIpv6(block), length))
  );
}

/**
 * Whether a URL's `hostname` can be public: a public address, or a name that is not reserved for local use. The
 * addresses that a name resolves to have to be checked separately.
 */
export function isPublicHost(hostname: string): boolean {
  if (hostname.startsWith('[')) return isPublicAddress(hostname.slice(1, -1));
  if (/^[\d.]+$/.test(hostname)) return isPublicAddress(hostname);
  const name = hostname.toLowerCase().replace(/\.$/, '');
  return name.includes('.') && !INNER_NAMES.some((inner) => name.endsWith(`.${inner}`));
}

/** The bytes of an IPv4 or IPv6 address. */
type Bytes = readonly number[];

function readIpv4(text: string): Bytes | null {
  if (!/^(?:(?:0|[1-9]\d{0,2})(?:\.|$)){4}$/.test(text) || text.endsWith('.')) return null;
  const bytes = text.split('.').map(Number);
  return bytes.every((byte) => byte < 256) ? bytes : null;
}

/** The URL parser accepts every spelling of an IPv6 address and writes that of RFC 5952. */
function readIpv6(text: string): Bytes | null {
  if (!/^[0-9a-f:.]+$/i.test(text)) return null;
  const canonical = URL.parse(`http://[${text}]/`)?.hostname.slice(1, -1);
  if (canonical === undefined) return null;
  const [head = [], tail = []] = canonical.split('::').map(readGroups);
  const zeros = new Array<number>(16 - head.length - tail.length).fill(0);
  return [...head, ...zeros, ...tail];
}

function readGroups(text: string): Bytes {
  const groups = text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  return groups.flatMap((group) => [group >> 8, group & 0xff]);
}

/** Whether an address starts with the prefix of a block of the same family. */
function begins(address: Bytes, block: Bytes | null, length: number): boolean {
  return (block ?? []).every((byte, index) => {
    const bits = Math.min(Math.max(length - index * 8, 0), 8);
    return byte >> (8 - bits) === (address[index] ?? 0) >> (8 - bits);
  });
}

const PLAIN_IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/**
 * The network of one subscriber: an IPv4 address itself, also if it is mapped or embedded (6to4, NAT64), or the first 64
 * bits of an IPv6 address, whatever its spelling. A zone is ignored. `null` if the text is not an address.
 */
export function networkPrefixOf(address: string): string | null {
  // Most addresses are already in normal form.
  if (PLAIN_IPV4.test(address)) return address;
  return formatPrefix(address, 8);
}

/**
 * The network of one site: an IPv4 address itself, as in `networkPrefixOf`, or the first 48 bits of an IPv6 address. A site may have 65,536
 * subscriber networks, so shared limits count it as one.
 * @param address an address, or the result of `networkPrefixOf`
 * @returns `null` if the text is neither
 * @see RFC 6177 §2
 */
export function sitePrefixOf(address: string): string | null {
  if (PLAIN_IPV4.test(address)) return address;
  return formatPrefix(address.replace(/::\/64$/, '::'), 6);
}

/** The IPv4 address that an address is or embeds, or the first bytes of an IPv6 address. */
function formatPrefix(address: string, length: 6 | 8): string | null {
  const bytes = readAddress(address);
  const ipv4 = bytes === null ? null : embeddedIpv4(bytes);
  if (bytes === null || ipv4 !== null) return ipv4?.join('.') ?? null;
  return `${toHex(bytes.slice(0, length))}::/${length * 8}`;
}

/**
 * The IPv4 address of the party that has an address: by 6to4 it has a /48, and by NAT64 all IPv4 addresses share one /96.
 * @see RFC 3056 §2, RFC 6052 §2.1, RFC 8215
 */
function embeddedIpv4(address: Bytes): Bytes | null {
  if (address.length === 4) return address;
  if (begins(address, readIpv6('2002::'), 16)) return address.slice(2, 6);
  const isTranslated =
    begins(address, readIpv6('64:ff9b::'), 96) || begins(address, readIpv6('64:ff9b:1::'), 48);
  return isTranslated ? address.slice(12) : null;
}

/** A CIDR block: all addresses with the same prefix. */
export interface CidrBlock {
  readonly bytes: readonly number[];
  /** Prefix length in bits. */
  readonly length: number;
}

/** Parses `10.0.0.0/8`, `2001:db8::/32` or a single address; `null` if the text is none of these. */
export function parseCidrBlock(text: string): CidrBlock | null {
  const [address = '', suffix, ...rest] = text.split('/');
  const bytes = readAddress(address);
  if (bytes === null || rest.length > 0) return null;
  const bits = bytes.length * 8;
  const length = suffix === undefined ? bits : /^\d{1,3}$/.test(suffix) ? Number(suffix) : bits + 1;
  return length > bits ? null : { bytes, length };
}

/** Whether an address, in any spelling, is in a block. */
export function isInCidrBlock(address: string, { bytes, length }: CidrBlock): boolean {
  const own = readAddress(address);
  return own !== null && own.length === bytes.length && begins(own, bytes, length);
}

/** Reads an address in any usual spelling; an IPv4-mapped IPv6 address counts as IPv4. */
function readAddress(text: string): Bytes | null {
  const ipv4 = readIpv4(text);
  if (ipv4 !== null) return ipv4;
  const ipv6 = readIpv6(text.split('%', 1)[0] ?? '');
  if (ipv6 === null) return null;
  return begins(ipv6, readIpv6('::ffff:0:0'), 96) ? ipv6.slice(12) : ipv6;
}

function toHex(bytes: Bytes): string {
  return bytes
    .reduce<number[]>((groups, byte, index) => {
      if (index % 2 === 0) groups.push(byte << 8);
      else groups.push((groups.pop() ?? 0) | byte);
      return groups;
    }, [])
    .map((group) => group.toString(16))
    .join(':');
}
