/** The credentials of all backends: one source by server, and the backends at which users connect accounts. */
import type { AuthorizationServer, UserBackend, UserBackends } from '@portcullis/authorization-server';
import { isAnonymous } from '@portcullis/resource-server';
import type { GatewayServer } from '../servers/server.ts';
import { type ProtectedBackend, protectedBackendOf } from './backend-client.ts';
import { type CredentialSource, noCredential } from './credential-source.ts';
import {
  createApplicationCredentials,
  createEnterpriseCredentials,
  createExchangeCredentials,
  type UserTokens,
} from './machine-credentials.ts';
import type { BackendCredentials } from './token-credential.ts';
import { createUserBackend } from './user-backend.ts';
import { createUserCredentials } from './user-credentials.ts';

/** What credentials need from the authorization server in the same process. */
export type CredentialServices = UserTokens & Pick<AuthorizationServer, 'connectedAccounts'>;

/**
 * Creates the source of all credentials. Tokens are looked up by grant, so no user's credential is ever used for
 * another, nor one client's for another client of the same user.
 * @param clock epoch milliseconds
 */
export function createCredentialSource(
  services: CredentialServices,
  clock: () => number = Date.now,
): CredentialSource {
  // Reloaded definitions get new credentials.
  const sources = new WeakMap<object, BackendCredentials>();
  const sourceOf = (server: GatewayServer): BackendCredentials => {
    const key = server.backend ?? server;
    const known = sources.get(key);
    if (known !== undefined) return known;
    const created = createCredentials(server, services, clock);
    sources.set(key, created);
    return created;
  };
  return {
    for: (principal, server) =>
      isAnonymous(principal) && ofUsers(server) ? noCredential : sourceOf(server).for(principal),
    rejected: (principal, server, answer, credential) =>
      credential === noCredential
        ? Promise.resolve('final')
        : sourceOf(server).rejected(principal, answer, credential),
  };
}

/** Whether the credential of a backend is that of a user: without a token, it is reached with none. */
function ofUsers({ backend }: GatewayServer): boolean {
  if (backend === null || backend.kind === 'stdio') return false;
  const { as } = backend.credentials;
  return as === 'user' || as === 'exchange' || as === 'enterprise';
}

function createCredentials(
  server: GatewayServer,
  services: CredentialServices,
  clock: () => number,
): BackendCredentials {
  const backend = protectedBackendOf(server);
  if (backend === null || server.backend === null || server.backend.kind === 'stdio') return fixed({});
  const { credentials } = server.backend;
  switch (credentials.as) {
    case 'none':
      return fixed({});
    case 'header':
      return fixed({ [credentials.name]: credentials.value });
    case 'application':
      return createApplicationCredentials(backend, credentials, clock);
    case 'user':
      return createUserCredentials({ ...backend, accounts: services.connectedAccounts, clock });
    case 'exchange':
      return createExchangeCredentials(backend, credentials, services, clock);
    case 'enterprise':
      return createEnterpriseCredentials(backend, credentials, services, clock);
  }
}

/** The same for all users; a rejection is final. */
function fixed(headers: Readonly<Record<string, string>>): BackendCredentials {
  const credential = Object.keys(headers).length === 0 ? noCredential : { headers, key: '', sign: null };
  return { for: () => credential, rejected: async () => 'final' };
}

/** Options of `createUserBackends`. */
export interface UserBackendsOptions {
  /** The current definitions. */
  readonly servers: () => readonly GatewayServer[];
  /** Name of this server at the authorization servers of backends. */
  readonly clientName: string;
  /** Epoch milliseconds. */
  readonly clock?: () => number;
}

/** The backends at which users connect accounts, for the option `backends` of the authorization server. */
export function createUserBackends({
  servers,
  clientName,
  clock = Date.now,
}: UserBackendsOptions): UserBackends {
  const created = new WeakMap<GatewayServer, UserBackend | null>();
  const backendOf = (server: GatewayServer): UserBackend | null => {
    const known = created.get(server);
    if (known !== undefined) return known;
    const backend = protectedBackendOf(server);
    const made = backend === null ? null : userBackendOf(server, backend, { clientName, clock });
    created.set(server, made);
    return made;
  };
  const find = (path: string) => servers().find((server) => server.path === path);
  return {
    find(id) {
      const server = find(id);
      return (server === undefined ? null : backendOf(server)) ?? undefined;
    },
    of(resource) {
      const server = servers().find((one) => one.resource === resource);
      if (server === undefined) return [];
      const parts = server.merges === null ? [server] : Object.values(server.merges).map(find);
      return parts.flatMap((part) => (part === undefined ? [] : (backendOf(part) ?? [])));
    },
  };
}

function userBackendOf(
  { backend: definition }: GatewayServer,
  backend: ProtectedBackend,
  options: Parameters<typeof createUserBackend>[2],
): UserBackend | null {
  if (definition === null || definition.kind === 'stdio' || definition.credentials.as !== 'user') return null;
  return createUserBackend(backend, definition.credentials, options);
}
