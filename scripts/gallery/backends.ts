/** Backends at which users connect accounts: their authorization server answers at once, as the gallery wants it. */
import { IdentityProviderError, type UserBackend, type UserBackends } from '@portcullis/authorization-server';

export type Connecting = 'connected' | 'declined' | 'failed';

/** @param outcome of each connection @param issuer of the server that the browser returns to */
export function createGalleryBackends(issuer: () => string, outcome: () => Connecting): UserBackends {
  const backends = [
    createBackend('/hub', 'Harbour Hub', 'mcp.harbour-hub.example'),
    createBackend('/archive', 'Archive of the Lakeside Region', 'archive.lakeside.example'),
  ];
  return {
    of: (resource) => (resource.endsWith('/mcp') ? backends : []),
    find: (id) => backends.find((one) => one.id === id),
  };

  function createBackend(id: string, name: string, host: string): UserBackend {
    let count = 0;
    return {
      id,
      name,
      host,
      hasConfiguredClient: true,
      async begin({ redirectUri }) {
        count += 1;
        const state = `state-${id.slice(1)}-${count}`;
        return { url: `${redirectUri}?state=${state}`, state, secrets: {} };
      },
      async complete() {
        if (outcome() === 'declined')
          throw new IdentityProviderError('refused', 'declined', { code: 'access_denied' });
        if (outcome() === 'failed') throw new IdentityProviderError('misbehaved', 'no token');
        return {
          tokens: { accessToken: 'token', tokenType: 'Bearer', refreshToken: null, session: {} },
          scopes: [],
          lifetime: null,
          issuer: issuer(),
        };
      },
      isIssuerOf: () => true,
      refresh: () => Promise.reject(new IdentityProviderError('outage', 'never refreshed')),
      revoke: async () => 'unsupported',
      clientDocument: () => ({}),
    };
  }
}
