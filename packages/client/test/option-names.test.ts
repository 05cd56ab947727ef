/** Unknown option names, as programs without a compiler may write them, are refused with any value. */
import { describe, expect, it } from 'vitest';
import { ClientError, createClient } from '../src/index.ts';
import { createNodeClient } from '../src/node.ts';

const good = {
  serverUrl: 'https://mcp.example/mcp',
  ...{ scopes: { add: ['read'] }, limits: { stepUps: 1 }, loopback: { timeout: 1000 } },
  registration: { clientName: 'Test', preregistered: [{ clientId: 'mine', redirectUris: [] }] },
};

function issueOf(make: () => unknown): string | null {
  try {
    make();
    return null;
  } catch (error) {
    if (!(error instanceof ClientError) || error.code !== 'configuration_invalid') throw error;
    return error.message;
  }
}

describe('unknown option names', () => {
  it.each<[string, object, string]>([
    ['an option', { trustedOrigin: [] }, 'trustedOrigin: unknown option; did you mean trustedOrigins?.'],
    ['scopes', { scopes: { ony: ['read'] } }, 'scopes.ony: unknown option; did you mean only?.'],
    ['limits', { limits: { stepups: 0 } }, 'limits.stepups: unknown option; did you mean stepUps?.'],
    ['registration', { registration: { metadataDocument: 'https://a.example/client' } }, 'registration.metadataDocument: unknown option; did you mean metadataDocumentUrl?.'],
    ['a client that is known', { registration: { preregistered: [{ clientID: 'mine' }] } }, 'registration.preregistered.0.clientID: unknown option; did you mean clientId?.'],
    ['where the browser comes back', { loopback: { prot: 1 } }, 'loopback.prot: unknown option; did you mean port?.'],
    ['several', { acount: 'a', revison: 'b' }, 'acount: unknown option; did you mean account?; revison: unknown option; did you mean revision?.'],
  ])('refuses %s', (_what, wrong, message) => {
    expect(issueOf(() => createNodeClient(good))).toBeNull();
    expect(issueOf(() => createNodeClient({ ...good, ...wrong } as never))).toBe(message);
    const { loopback, ...rest } = { ...good, ...wrong };
    if (loopback === good.loopback) expect(issueOf(() => createClient(rest as never))).toBe(message);
  }); // biome-ignore format: a table
});
