/** An OAuth client provider for the official SDKs: client metadata, and storage in memory. */
import { randomUUID } from 'node:crypto';
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import type { User } from '../support/user.ts';

export interface MemoryProvider extends OAuthClientProvider {
  tokens(): StoredOAuthTokens | undefined;
  clientInformation(): StoredOAuthClientInformation | undefined;
  /** The authorization URL that the SDK wants opened. */
  opened(): URL;
  /** Lets a user complete it and returns the code for `finishAuth`. Drops a response whose state differs. */
  ask(user: User): Promise<URLSearchParams>;
}

export interface Application {
  readonly redirectUrl: string;
  /** Besides name, redirect URI and `token_endpoint_auth_method` `none`. */
  readonly metadata?: Partial<OAuthClientMetadata>;
  /** The client information of an application registered manually. */
  readonly client?: StoredOAuthClientInformation;
}

export function createMemoryProvider({ redirectUrl, metadata, client: known }: Application): MemoryProvider {
  let client = known;
  let tokens: StoredOAuthTokens | undefined;
  let discovery: OAuthDiscoveryState | undefined;
  let verifier = '';
  let expectedState = '';
  let authorizationUrl: URL | undefined;

  const provider: MemoryProvider = {
    redirectUrl,
    clientMetadata: {
      client_name: 'Interop',
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      ...metadata,
    },
    state: () => {
      expectedState = randomUUID();
      return expectedState;
    },
    clientInformation: () => client,
    saveClientInformation: (information) => {
      client = information;
    },
    tokens: () => tokens,
    saveTokens: (issued) => {
      tokens = issued;
    },
    redirectToAuthorization: (url) => {
      authorizationUrl = url;
    },
    saveCodeVerifier: (secret) => {
      verifier = secret;
    },
    codeVerifier: () => verifier,
    discoveryState: () => discovery,
    saveDiscoveryState: (state) => {
      discovery = state;
    },
    opened: () => {
      if (authorizationUrl === undefined) throw new Error('the SDK has not asked for authorization');
      return authorizationUrl;
    },
    async ask(user) {
      const { searchParams } = await user.authorize(provider.opened());
      if (searchParams.get('state') !== expectedState)
        throw new Error('the state is not the one that was sent');
      return searchParams;
    },
  };
  return provider;
}
