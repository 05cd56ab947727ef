/** Signing keys: created once, encrypted at rest, published without private members, unreadable under another master key. */
import { createLocalJWKSet, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { openEmptyStore } from '../../../tests/support/migrated-store.ts';
import { createEncryptor, DecryptionError } from '../src/encryption/encryptor.ts';
import { ConfigurationError, createAuthorizationServer } from '../src/index.ts';
import { CLIENTS, ISSUER, MASTER_KEY, NOTES, RESOURCES, startServer } from './server-under-test.ts';

const options = { issuer: ISSUER, masterKey: MASTER_KEY, resources: RESOURCES, clients: CLIENTS };

describe('encryption under the master key', () => {
  const encryptor = createEncryptor(MASTER_KEY);
  const plaintext = Buffer.from('a private key');

  it('decrypts under the same key and for the same place', () => {
    expect(encryptor.decrypt(encryptor.encrypt(plaintext, 'row 1'), 'row 1')).toEqual(plaintext);
    expect(createEncryptor(MASTER_KEY).decrypt(encryptor.encrypt(plaintext, 'row 1'), 'row 1')).toEqual(
      plaintext,
    );
  });

  it('encrypts to different bytes every time, and reveals nothing of the plaintext', () => {
    const [first, second] = [encryptor.encrypt(plaintext, 'row 1'), encryptor.encrypt(plaintext, 'row 1')];
    expect(first).not.toEqual(second);
    expect(Buffer.from(first).includes(plaintext.subarray(0, 4))).toBe(false);
  });

  const issueOf = (open: () => unknown) => {
    try {
      open();
      return null;
    } catch (error) {
      return error instanceof DecryptionError ? error.issue : error;
    }
  };

  it('distinguishes another master key from damage', () => {
    const ciphertext = encryptor.encrypt(plaintext, 'row 1');
    const other = createEncryptor(new Uint8Array(32).fill(8));
    expect(issueOf(() => other.decrypt(ciphertext, 'row 1'))).toBe('other-key');
    expect(issueOf(() => encryptor.decrypt(ciphertext, 'row 2'))).toBe('damaged');
    for (const length of [0, 1, 36, ciphertext.length - 1]) {
      expect(issueOf(() => encryptor.decrypt(ciphertext.subarray(0, length), 'row 1'))).toBe('damaged');
    }
  });

  it('detects any changed byte of a ciphertext', () => {
    const ciphertext = encryptor.encrypt(plaintext, 'row 1');
    for (const index of ciphertext.keys()) {
      const changed = Uint8Array.from(ciphertext, (byte, at) => (at === index ? byte ^ 1 : byte));
      expect(issueOf(() => encryptor.decrypt(changed, 'row 1'))).toMatch(/^(damaged|other-key)$/);
    }
  });
});

describe('signing keys', () => {
  it('creates signing keys at the first start, and keeps them', async () => {
    const store = await openEmptyStore();
    const events: string[] = [];
    const note = { events: ({ type }: { type: string }) => void events.push(type) };
    const first = await (await createAuthorizationServer({ ...options, ...note, store })).jwks();
    const second = await (await createAuthorizationServer({ ...options, ...note, store })).jwks();
    expect(second).toEqual(first);
    expect(first.keys).toHaveLength(1);
    expect(events).toEqual(['key.created']);
    await store.close();
  });

  it('servers that start concurrently have the same signing keys', async () => {
    const store = await openEmptyStore();
    const servers = await Promise.all(
      Array.from({ length: 8 }, () => createAuthorizationServer({ ...options, store })),
    );
    const kids = await Promise.all(
      servers.map(async (server) => (await server.jwks()).keys.map(({ kid }) => kid)),
    );
    expect(new Set(kids.flat()).size).toBe(1);
    await store.close();
  });

  it('startup fails under another master key, and the error names the option', async () => {
    const store = await openEmptyStore();
    await createAuthorizationServer({ ...options, store });
    const start = createAuthorizationServer({ ...options, store, masterKey: new Uint8Array(32).fill(8) });
    await expect(start).rejects.toThrow(ConfigurationError);
    await expect(start).rejects.toThrow(/masterKey does not decrypt/);
    await store.close();
  });

  it('[AS-META-69] T064 publishes signing keys without private members, each with its own kid', async () => {
    const { send, server } = await startServer();
    const { status, headers, body, text } = await send('/jwks');
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('public, max-age=300');
    expect(body).toEqual(await server.jwks());
    expect(text).not.toMatch(/"(d|k|p|q|dp|dq|qi|oth)":/);
    const keys = body['keys'] as Record<string, unknown>[];
    expect(keys).toEqual([
      {
        kty: 'EC',
        crv: 'P-256',
        x: expect.any(String),
        y: expect.any(String),
        kid: expect.stringMatching(/^key_/),
        alg: 'ES256',
        use: 'sig',
      },
    ]);
  });

  it('the published keys verify what the server signs', async () => {
    const { server, signIn } = await startServer();
    const { body } = await signIn();
    const { protectedHeader } = await jwtVerify(
      String(body['access_token']),
      createLocalJWKSet(await server.jwks()),
      {
        issuer: ISSUER,
        audience: NOTES,
        typ: 'at+jwt',
        currentDate: new Date(1_800_000_000_000),
      },
    );
    expect(protectedHeader.alg).toBe('ES256');
  });
});
