import { describe, expect, it } from 'vitest';
import { createHandleTable, createSignedHandles, type Principal } from '../src/index.ts';
import { principalKey } from '../src/session-binding/handles.ts';

const alice: Principal = {
  issuer: 'https://as.example',
  subject: 'alice',
  clientId: 'app',
  scopes: [],
  resource: 'https://api.example/mcp',
  grantId: null,
  expiresAt: 0,
  email: null,
  name: null,
  groups: [],
  claims: {},
};

/** Principals that differ from alice in one property. */
const others: readonly (readonly [string, Principal])[] = [
  ['another user with the same client', { ...alice, subject: 'bob' }],
  ['the same user with another client', { ...alice, clientId: 'other' }],
  ['the same subject of another issuer', { ...alice, issuer: 'https://evil.example' }],
  ['one whose names run together alike', { ...alice, clientId: 'app","alice', subject: '' }],
];

describe('a table of handles', () => {
  it.each(others)('[S-SESS-42] T101 resolves no handle of the table for %s', (_, other) => {
    const table = createHandleTable<{ data: string }>();
    const value = { data: 'hers' };
    const handle = table.create(alice, value);
    expect(table.find(other, handle)).toBeUndefined();
    table.remove(other, handle);
    expect(table.bind(other, handle, { data: 'theirs' })).toBe(false);
    expect(table.find(alice, handle)).toBe(value);
    table.remove(alice, handle);
    expect(table.find(alice, handle)).toBeUndefined();
  });

  it('[S-SESS-41] makes handles that cannot be guessed', () => {
    const table = createHandleTable<number>();
    const handles = Array.from({ length: 100 }, (_, index) => table.create(alice, index));
    expect(new Set(handles).size).toBe(100);
    for (const handle of handles)
      expect(handle).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('evicts the oldest handle of a principal with too many, and of no other', () => {
    const closed: string[] = [];
    const table = createHandleTable<string>({
      maxHandlesPerPrincipal: 2,
      onEvicted: (value) => closed.push(value),
    });
    const bob = { ...alice, subject: 'bob' };
    const his = table.create(bob, 'his');
    const [first, second, third] = ['1', '2', '3'].map((value) => table.create(alice, value));
    expect(closed).toEqual(['1']);
    expect([first, second, third].map((handle) => table.find(alice, handle ?? ''))).toEqual([
      undefined,
      '2',
      '3',
    ]);
    expect(table.find(bob, his)).toBe('his');
  });

  it('rejects new handles when it is full', () => {
    const table = createHandleTable<number>({ maxHandles: 1 });
    const handle = table.create(alice, 1);
    const bob = { ...alice, subject: 'bob' };
    expect(() => table.create(bob, 2)).toThrow(expect.objectContaining({ status: 503 }));
    table.remove(alice, handle);
    expect(table.find(bob, table.create(bob, 2))).toBe(2);
  });
});

describe('signed handles', () => {
  const secret = new Uint8Array(32).fill(1);

  it.each(others)('[S-SESS-42] T101 rejects signed handles for %s', async (_, other) => {
    const handle = await createSignedHandles(secret).sign(alice, 'task 7 ü');
    expect(await createSignedHandles(secret).verify(other, handle)).toBeNull();
    expect(await createSignedHandles(secret).verify(alice, handle)).toBe('task 7 ü');
  });

  it('T101 rejects signed handles that were modified, or forged without the secret', async () => {
    const signer = createSignedHandles(secret);
    const handle = await signer.sign(alice, 'task 7');
    const [, tag] = handle.split('.');
    const foreign = await createSignedHandles(new Uint8Array(32).fill(2)).sign(alice, 'task 7');
    for (const wrong of [
      `${btoa('task 8')}.${tag}`,
      foreign,
      'task 7',
      `${handle}.x`,
      `${handle}!`,
      '.',
      '',
    ]) {
      expect(await signer.verify(alice, wrong)).toBeNull();
    }
    expect(() => createSignedHandles(new Uint8Array(16))).toThrow('32 bytes');
  });
});

it('creates unambiguous keys of principals', () => {
  const keys = [alice, ...others.map(([, other]) => other)].map(principalKey);
  expect(new Set(keys).size).toBe(keys.length);
});
