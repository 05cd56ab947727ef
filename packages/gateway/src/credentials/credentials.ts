/** The credentials of all backends: one source by server, and the backends at which users connect accounts. */
import type { AuthorizationServer, UserBackend, UserBackends } from '@portcullis/authorization-server';
import { OAuthError } from '@portcullis/protocol';
import { isAnonymous, type Principal } from '@portcullis/resource-server';
import type { GatewayServer } from '../servers/server.ts';
import { protectedBackendOf } from './backend-client.ts';
import {
  type CredentialSource,
  credentialsOfServer,
  noCredential,
  USER_CREDENTIALS,
} from './credential-source.ts';
import { createMachineCredentials, type UserTokens } from './machine-credentials.ts';
import { type BackendCredentials, fixedCredentials } from './token-credential.ts';
import { createUserBackend, type UserBackendOptions } from './user-backend.ts';
import { createUserCredentials } from './user-credentials.ts';

/** What credentials need from the authorization server in the same process. */
export type CredentialServices = UserTokens & Pick<AuthorizationServer, 'issuer' | 'connectedAccounts'>;

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
    for(principal, server) {
      if (!USER_CREDENTIALS.has(credentialsOfServer(server).as)) return sourceOf(server).for(principal);
      // Without a token, a backend with credentials of users is reached with none.
      if (isAnonymous(principal)) return noCredential;
      checkIssuer(principal, server, services);
      return sourceOf(server).for(principal);
    },
    rejected: (principal, server, answer, credential) =>
      credential === noCredential
        ? Promise.resolve('final')
        : sourceOf(server).rejected(principal, answer, credential),
  };
}

/** Tokens of another issuer may name any grant, and any user. @throws OAuthError */
function checkIssuer({ issuer }: Principal, { name }: GatewayServer, services: CredentialServices): void {
  if (issuer === services.issuer) return;
  const text = `${name} needs an account of a user, and this token is of an issuer whose users have none here.`;
  throw new OAuthError('access_denied', text);
}

function createCredentials(
  server: GatewayServer,
  services: CredentialServices,
  clock: () => number,
): BackendCredentials {
  const backend = protectedBackendOf(server);
  const credentials = credentialsOfServer(server);
  if (backend === null || credentials.as === 'none') return fixedCredentials({});
  if (credentials.as === 'header') return fixedCredentials({ [credentials.name]: credentials.value });
  return credentials.as === 'user'
    ? createUserCredentials({ ...backend, accounts: services.connectedAccounts, clock })
    : createMachineCredentials(backend, credentials, services, clock);
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
  const backendOf = (server: GatewayServer | undefined): UserBackend | undefined => {
    if (server === undefined) return undefined;
    const backend = created.get(server) ?? userBackendOf(server, { clientName, clock });
    created.set(server, backend);
    return backend ?? undefined;
  };
  const find = (path: string) => servers().find((server) => server.path === path);
  return {
    find: (id) => backendOf(find(id)),
    of(resource) {
      const server = servers().find((one) => one.resource === resource);
      const parts = server?.merges ? Object.values(server.merges).map(find) : [server];
      return parts.flatMap((part) => backendOf(part) ?? []);
    },
  };
}

function userBackendOf(server: GatewayServer, options: UserBackendOptions): UserBackend | null {
  const definition = credentialsOfServer(server);
  const backend = definition.as === 'user' ? protectedBackendOf(server) : null;
  return definition.as !== 'user' || backend === null
    ? null
    : createUserBackend(backend, definition, options);
}
