/** Client address behind proxies: only trusted proxies are believed. */
import { describe, expect, it } from 'vitest';
import { createForwardedReader } from '../src/node/forwarded.ts';

const find = createForwardedReader(['10.0.0.0/8', '2001:db8:1::/48', '127.0.0.1']);

describe('the address', () => {
  it.each([
    { is: 'the peer address if there is no header', connection: '203.0.113.7', headers: {}, address: '203.0.113.7' },
    { is: 'the peer address if the peer is no trusted proxy, whatever its headers say', connection: '203.0.113.7', headers: { 'x-forwarded-for': '192.0.2.1', forwarded: 'for=192.0.2.1' }, address: '203.0.113.7' },
    { is: 'the one reported by a trusted proxy', connection: '10.1.2.3', headers: { 'x-forwarded-for': '192.0.2.1' }, address: '192.0.2.1' },
    { is: 'the one reported by a trusted proxy in the Forwarded header', connection: '10.1.2.3', headers: { forwarded: 'for=192.0.2.1;proto=https' }, address: '192.0.2.1' },
    { is: 'the last untrusted address, not one that the client forged', connection: '10.1.2.3', headers: { 'x-forwarded-for': '198.51.100.9, 192.0.2.1' }, address: '192.0.2.1' },
    { is: 'found behind several trusted proxies', connection: '127.0.0.1', headers: { 'x-forwarded-for': '6.6.6.6, 192.0.2.1, 10.9.9.9, 2001:db8:1::5' }, address: '192.0.2.1' },
    { is: 'that of a trusted proxy that sends a request of its own', connection: '10.1.2.3', headers: { 'x-forwarded-for': '10.5.5.5' }, address: '10.5.5.5' },
    { is: 'that of the proxy if it sends no header', connection: '10.1.2.3', headers: {}, address: '10.1.2.3' },
    { is: 'that of the proxy if the client is unknown to it', connection: '10.1.2.3', headers: { forwarded: 'for=unknown' }, address: '10.1.2.3' },
    { is: 'that of the proxy if it hides the client', connection: '10.1.2.3', headers: { forwarded: 'for="_hidden"' }, address: '10.1.2.3' },
    { is: 'that of the proxy if two headers disagree', connection: '10.1.2.3', headers: { 'x-forwarded-for': '192.0.2.1', forwarded: 'for=6.6.6.6' }, address: '10.1.2.3' },
    { is: 'the one on which two headers agree', connection: '10.1.2.3', headers: { 'x-forwarded-for': '192.0.2.1', forwarded: 'For="192.0.2.1:4711"' }, address: '192.0.2.1' },
    { is: 'read from an IPv6 address with a port', connection: '10.1.2.3', headers: { forwarded: 'for="[2001:db8:2::7]:443"' }, address: '2001:db8:2::7' },
    { is: 'read from an IPv4 address with a port', connection: '::ffff:10.1.2.3', headers: { 'x-forwarded-for': '192.0.2.1:5555' }, address: '192.0.2.1' },
    { is: 'that of the proxy if the header is malformed', connection: '10.1.2.3', headers: { 'x-forwarded-for': '<script>' }, address: '10.1.2.3' },
    { is: 'the nearest untrusted one, however many forged ones precede it', connection: '10.1.2.3', headers: { 'x-forwarded-for': `${'6.6.6.6,'.repeat(50)}192.0.2.1` }, address: '192.0.2.1' },
    { is: 'that of the proxy if the nearest list entry is empty', connection: '10.1.2.3', headers: { 'x-forwarded-for': '192.0.2.1,'.repeat(21) }, address: '10.1.2.3' },
  ])('T043 the client address is $is', ({ connection, headers, address }) => {
    expect(find(connection, headers).address).toBe(address);
  }); // biome-ignore format: a table
});

describe('the protocol', () => {
  it.each([
    { connection: '203.0.113.7', headers: { 'x-forwarded-proto': 'https' }, isProxied: false, protocol: null },
    { connection: '10.1.2.3', headers: { 'x-forwarded-proto': 'https' }, isProxied: true, protocol: 'https' },
    { connection: '10.1.2.3', headers: { 'x-forwarded-proto': 'https, http' }, isProxied: true, protocol: 'http' },
    { connection: '10.1.2.3', headers: { forwarded: 'for=192.0.2.1;proto=HTTP' }, isProxied: true, protocol: 'http' },
    { connection: '10.1.2.3', headers: { 'x-forwarded-proto': 'gopher' }, isProxied: true, protocol: null },
    { connection: '10.1.2.3', headers: {}, isProxied: true, protocol: null },
    { connection: undefined, headers: {}, isProxied: false, protocol: null },
  ])('[ALL-HTTP-62] accepts the protocol only from a trusted proxy: %j', ({ connection, headers, ...expected }) => {
    expect(find(connection, headers)).toMatchObject(expected);
  }); // biome-ignore format: a table
});

it.each(['10.0.0.0/33', 'proxy.example', '', '10.0.0.0/', '::/129', '1.2.3.4/8/8'])(
  'rejects %j as a range of trusted proxies',
  (text) => {
    expect(() => createForwardedReader([text])).toThrow(RangeError);
  },
);
