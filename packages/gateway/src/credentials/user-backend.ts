/** A backend at which users connect accounts: the OAuth client that the authorization server calls from its pages. */
import {
  type BackendConnectionRequest,
  type BackendTokenResponse,
  type BackendTokenSet,
  IdentityProviderError,
  type UserBackend,
} from '@portcullis/authorization-server';
import {
  buildMetadataDocument,
  type Client,
  type CredentialRecord,
  type PendingAuthorization,
} from '@portcullis/client';
import type { CredentialDefinition } from '../servers/credential-options.ts';
import { createBackendClient, type ProtectedBackend, toBackendError } from './backend-client.ts';
import { createSessionStore, type SessionContent, type SessionStore } from './session-store.ts';

export interface UserBackendOptions {
  /** Name of this server at the authorization server of the backend. */
  readonly clientName: string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

export function createUserBackend(
  backend: ProtectedBackend,
  definition: Extract<CredentialDefinition, { readonly as: 'user' }>,
  options: UserBackendOptions,
): UserBackend {
  const { id, name, url } = backend;
  const { clientName, clock } = options;

  async function open(content: SessionContent, request: Partial<BackendConnectionRequest> = {}) {
    const store = await createSessionStore(url, content);
    const client = await createBackendClient(backend, {
      ...definition,
      store,
      clientName,
      clock,
      moreScopes: request.scopes ?? [],
      ...(request.documentUrl != null && { documentUrl: request.documentUrl }),
    });
    return { store, client };
  }

  return {
    id,
    name,
    host: new URL(url).host,
    hasConfiguredClient: definition.client !== null,
    ...connecting(url, open, clock),
    ...connected(url, open, clock),
    clientDocument: (documentUrl, redirectUri) =>
      buildMetadataDocument({ url: documentUrl, clientName, redirectUris: [redirectUri] }),
  };
}

type OpenClient = (
  content: SessionContent,
  request?: Partial<BackendConnectionRequest>,
) => Promise<{ readonly store: SessionStore; readonly client: Client }>;

/** The redirect of a user to the authorization server of the backend, and back. */
function connecting(
  server: string,
  open: OpenClient,
  clock: () => number,
): Pick<UserBackend, 'begin' | 'complete'> {
  return {
    begin: (request) =>
      classified(async () => {
        const { store, client } = await open({ registrations: request.registrations }, request);
        const location = await client.begin({ redirectUri: request.redirectUri });
        const pending = store.pending();
        if (pending === null) throw new TypeError('The client saves what it begins.');
        return { url: location, state: pending.state, secrets: { pending } };
      }),
    complete: (secrets, response) =>
      classified(async () => {
        const { pending } = secrets as { readonly pending: PendingAuthorization };
        const { issuer, account, registration } = pending;
        const key = { server, issuer, account, kind: 'user' } as const;
        const { store, client } = await open({
          pending,
          record: { key, registration, tokens: null, since: null },
        });
        await client.complete(response);
        return responseOf(store, clock());
      }),
  };
}

/** What happens to the tokens of a connected account. */
function connected(
  server: string,
  open: OpenClient,
  clock: () => number,
): Pick<UserBackend, 'isIssuerOf' | 'refresh' | 'revoke'> {
  const isIssuerOf: UserBackend['isIssuerOf'] = ({ session }) =>
    (session as CredentialRecord).key.server === server;
  return {
    isIssuerOf,
    refresh: ({ session }) =>
      classified(async () => {
        const record = session as CredentialRecord;
        const { tokens } = record;
        if (tokens === null) throw ended();
        // Marked expired, so the client has to refresh it.
        const { store, client } = await open({ record: { ...record, tokens: { ...tokens, expiresAt: 0 } } });
        if ((await client.accessToken()) === null) throw ended();
        return responseOf(store, clock());
      }),
    revoke: (tokens) =>
      classified(async () => {
        const { session } = tokens;
        if (!isIssuerOf(tokens)) return 'unsupported';
        const { client } = await open({ record: session as CredentialRecord });
        const { metadata } = await client.discover();
        if (metadata.revocation_endpoint === undefined) return 'unsupported';
        if ((await client.signOut()) === 'revoked') return 'revoked';
        throw new IdentityProviderError('outage', 'the tokens were not revoked');
      }),
  };
}

function ended(): IdentityProviderError {
  return new IdentityProviderError('refused', 'the refresh token is no longer valid', {
    code: 'invalid_grant',
  });
}

async function classified<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toBackendError(error);
  }
}

function responseOf(store: SessionStore, now: number): BackendTokenResponse {
  const record = store.session();
  const tokens = record?.tokens ?? null;
  if (record === null || tokens === null) throw new TypeError('The client saves the tokens it obtains.');
  const { accessToken, scheme, refreshToken, scopes, expiresAt } = tokens;
  const set: BackendTokenSet = { accessToken, tokenType: scheme, refreshToken, session: record };
  return {
    tokens: set,
    scopes,
    lifetime: expiresAt === null ? null : Math.max(0, Math.floor((expiresAt - now) / 1000)),
  };
}
