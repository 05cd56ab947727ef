/** Transports: HTTP is guarded, and no other transport is accepted by the same listener. */
import { createAuthorizationServer } from '@portcullis/authorization-server';
import { createClient } from '@portcullis/client';
import { createGuard, jwtVerifier } from '@portcullis/resource-server';
import { describe, expect, it } from 'vitest';
import { openEmptyStore } from '../support/migrated-store.ts';

const jwks = async () => ({ keys: [] });
const issuer = 'https://as.example';

function guard(resource: string): unknown {
  return createGuard({ resource, name: 'Notes', verifier: jwtVerifier({ issuer, jwks }) });
}

async function protect(resource: string): Promise<void> {
  const store = await openEmptyStore();
  const resources = [{ resource, name: 'Notes', scopes: { read: 'Read' } }];
  try {
    const server = await createAuthorizationServer({
      issuer,
      store,
      masterKey: new Uint8Array(32),
      resources,
    });
    await server.close();
  } finally {
    await store.close();
  }
}

describe.each(['ws://server.example/mcp', 'wss://server.example/mcp', 'unix:/run/mcp.sock', 'stdio:server'])(
  'a server at %s',
  (url) => {
    it('[ALL-TRN-3] is none for which a client asks for authorization', () => {
      expect(() => createClient({ serverUrl: url })).toThrow(
        expect.objectContaining({ code: 'server_url_invalid' }),
      );
    });

    it('[ALL-TRN-3] is none that a guard answers for', () => {
      expect(() => guard(url)).toThrow('resource');
    });

    it('[ALL-TRN-3] is none that tokens are issued for', async () => {
      await expect(protect(url)).rejects.toThrow('resource');
    });
  },
);

describe('a server at https://server.example/mcp', () => {
  const url = 'https://server.example/mcp';

  it('is all three', async () => {
    expect(createClient({ serverUrl: url })).toBeDefined();
    expect(guard(url)).toBeDefined();
    await protect(url);
  });
});
