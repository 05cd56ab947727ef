/** Which addresses and hosts are public, and which lead into the internal network. */
import {
  isInCidrBlock,
  isPublicAddress,
  isPublicHost,
  networkPrefixOf,
  parseCidrBlock,
  sitePrefixOf,
} from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';

describe('isPublicAddress', () => {
  const cases: readonly { description: string; expect: boolean; given: readonly string[] }[] = [
    {
      description: 'public IPv4 addresses',
      given: ['1.1.1.1', '93.184.216.34', '172.32.0.1', '192.169.0.1'],
      expect: true,
    },
    { description: 'addresses of this network', given: ['0.0.0.0', '0.1.2.3'], expect: false },
    {
      description: 'private-use addresses',
      given: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
      expect: false,
    },
    { description: 'shared address space', given: ['100.64.0.1', '100.127.255.255'], expect: false },
    {
      description: 'addresses next to the shared address space',
      given: ['100.63.255.255', '100.128.0.0'],
      expect: true,
    },
    { description: 'loopback addresses', given: ['127.0.0.1', '127.255.255.254', '::1'], expect: false },
    { description: 'link-local addresses', given: ['169.254.169.254', 'fe80::1', 'febf::1'], expect: false },
    {
      description: 'addresses of protocol assignments and relays',
      given: ['192.0.0.1', '192.88.99.1', '2001::1'],
      expect: false,
    },
    {
      description: 'addresses for documentation and benchmarking',
      given: [
        '192.0.2.1',
        '198.51.100.1',
        '203.0.113.1',
        '198.18.0.1',
        '198.19.255.255',
        '2001:db8::1',
        '3fff::1',
      ],
      expect: false,
    },
    {
      description: 'multicast, reserved and broadcast addresses',
      given: ['224.0.0.1', '240.0.0.1', '255.255.255.255', 'ff02::1'],
      expect: false,
    },
    {
      description: 'public IPv6 addresses',
      given: ['2606:4700::1111', '2A00:1450:4001:0800::200E'],
      expect: true,
    },
    {
      description: 'unique local and unspecified addresses',
      given: ['fc00::1', 'fd12:3456::1', '::'],
      expect: false,
    },
    { description: 'unallocated addresses', given: ['4000::1', '100::1', '5f00::1'], expect: false },
    {
      description: 'internal IPv4 addresses embedded in IPv6',
      given: [
        '::ffff:169.254.169.254',
        '::ffff:a9fe:a9fe',
        '64:ff9b::a9fe:a9fe',
        '2002:7f00:1::',
        '::ffff:127.0.0.1',
        '::127.0.0.1',
      ],
      expect: false,
    },
    {
      description: 'public IPv4 addresses embedded in IPv6',
      given: ['::ffff:1.1.1.1', '64:ff9b::101:101'],
      expect: true,
    },
    {
      description: 'text that is no address in its usual spelling',
      given: [
        '',
        '127.1',
        '0x7f.1',
        '0x7f000001',
        '2130706433',
        '0177.0.0.1',
        '01.1.1.1',
        '1.1.1',
        '1.1.1.1.',
        '1.1.1.256',
        '[::1]',
        'fe80::1%eth0',
        '1::2::3',
        'example.com',
        '1.1.1.1 ',
        '2606:4700::1111]/',
        '::1]/@[2606:4700::1111',
      ],
      expect: false,
    },
  ];
  it.each(cases)(
    'T048 isPublicAddress returns $expect for $description: $given',
    ({ given, expect: expected }) => {
      for (const address of given) expect([address, isPublicAddress(address)]).toEqual([address, expected]);
    },
  );
});

describe('isPublicHost', () => {
  const cases: readonly { description: string; expect: boolean; given: readonly string[] }[] = [
    {
      description: 'public host names',
      given: ['example.com', 'a.b.example', 'xn--e1awd7f.com', 'localhost.example.com', 'mylocal.example'],
      expect: true,
    },
    { description: 'public addresses', given: ['1.1.1.1', '[2606:4700::1111]'], expect: true },
    {
      description: 'hosts of this machine',
      given: ['localhost', 'LOCALHOST', 'localhost.', 'x.localhost', 'x.localhost.'],
      expect: false,
    },
    {
      description: 'hosts of this network',
      given: ['printer.local', 'metadata.google.internal', 'nas.home.arpa', 'intranet', 'intranet.', ''],
      expect: false,
    },
    {
      description: 'internal addresses',
      given: ['127.0.0.1', '10.0.0.1', '[::1]', '[::ffff:7f00:1]', '127.1', '1.1.1.1.'],
      expect: false,
    },
  ];
  it.each(cases)(
    'T048 isPublicHost returns $expect for $description: $given',
    ({ given, expect: expected }) => {
      for (const host of given) expect([host, isPublicHost(host)]).toEqual([host, expected]);
    },
  );
});

describe('the network of an address', () => {
  it.each([
    { given: ['192.0.2.1', '::ffff:192.0.2.1', '::FFFF:c000:201', '0:0:0:0:0:ffff:192.0.2.1'], expected: '192.0.2.1' },
    { given: ['2001:db8::1', '2001:DB8:0:0:1:2:3:4', '2001:0db8::ffff', '2001:db8::1%eth0'], expected: '2001:db8:0:0::/64' },
    { given: ['2001:db8:0:1::1'], expected: '2001:db8:0:1::/64' },
    { given: ['::1', '::'], expected: '0:0:0:0::/64' },
    { given: ['', 'unknown', '1.2.3', '1.2.3.256', '2001:db8', 'localhost', '1.2.3.4:80', '[::1]'], expected: null },
  ])('T043 networkPrefixOf returns $expected for $given', ({ given, expected }) => {
    for (const address of given) expect([address, networkPrefixOf(address)]).toEqual([address, expected]);
  }); // biome-ignore format: a table
});

describe('siteOf', () => {
  it.each([
    { given: ['192.0.2.1', '::ffff:192.0.2.1', '::FFFF:c000:201'], expected: '192.0.2.1' },
    { given: ['192.0.2.2'], expected: '192.0.2.2' },
    { given: ['2002:c000:202::1', '2002:c000:202:ffff::9', '64:ff9b::192.0.2.2', '64:ff9b:1::c000:202'], expected: '192.0.2.2' },
    { given: ['2001:db8:7::1', '2001:DB8:7:ffff:1:2:3:4', '2001:0db8:0007:1::', '2001:db8:7:1::5%eth0'], expected: '2001:db8:7::/48' },
    { given: ['2001:db8:8::1'], expected: '2001:db8:8::/48' },
    { given: ['::1', '::'], expected: '0:0:0::/48' },
    { given: ['', 'unknown', '1.2.3', '2001:db8', 'localhost', '[::1]', '192.0.2.1/64', '2001:db8::/48', '::/64/64'], expected: null },
  ])('T043 sitePrefixOf returns $expected for $given', ({ given, expected }) => {
    for (const address of given) expect([address, sitePrefixOf(address)]).toEqual([address, expected]);
  }); // biome-ignore format: a table

  it.each([
    '192.0.2.1',
    '::ffff:192.0.2.1',
    '2001:db8:7:1::5',
    '2001:db8::',
    '::1',
    'fe80::1%eth0',
    '1:2:3:4:5:6:7:8',
    '2002:c000:202:7::9',
    '64:ff9b::192.0.2.2',
  ])('T043 sitePrefixOf gives the network prefix of %s the same site as the address', (address) => {
    expect(sitePrefixOf(networkPrefixOf(address) ?? '')).toBe(sitePrefixOf(address));
  });
});

describe('a block of addresses', () => {
  it.each([
    { block: '10.0.0.0/8', inside: ['10.0.0.0', '10.255.255.255', '::ffff:10.1.1.1'], outside: ['11.0.0.0', '::10.0.0.1', '2002:a00:1::1', '64:ff9b::10.0.0.1', 'x'] },
    { block: '192.0.2.7', inside: ['192.0.2.7'], outside: ['192.0.2.8'] },
    { block: '0.0.0.0/0', inside: ['1.2.3.4'], outside: ['::1'] },
    { block: '2001:db8::/33', inside: ['2001:db8:7fff::1'], outside: ['2001:db8:8000::1', '1.2.3.4'] },
  ])('the CIDR block $block contains only its own addresses', ({ block, inside, outside }) => {
    const read = parseCidrBlock(block);
    if (read === null) throw new Error('it was not read');
    for (const address of inside) expect([address, isInCidrBlock(address, read)]).toEqual([address, true]);
    for (const address of outside) expect([address, isInCidrBlock(address, read)]).toEqual([address, false]);
  }); // biome-ignore format: a table
});
