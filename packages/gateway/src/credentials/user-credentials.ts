/** Credentials of users who connected accounts: those of the grant, refreshed when rejected, or a link to connect one. */
import type { ConnectedAccounts, ConnectedAccountTokens } from '@portcullis/authorization-server';
import type { CredentialRecord } from '@portcullis/client';
import {
  type ClientContext,
  createClientContext,
  processProtectedResourceResponse,
} from '@portcullis/client/steps';
import { createLruCache, OAuthError, type Scopes, unionScopes } from '@portcullis/protocol';
import type { Principal } from '@portcullis/resource-server';
import { MAX_CACHED_TOKENS, USER_TOKEN_TOO_NEW, USER_TOKENS_CACHED_FOR } from '../limits.ts';
import { type BackendCredential, ConnectionRequired } from './credential-source.ts';
import { type BackendCredentials, credentialOf } from './token-credential.ts';

interface CachedCredential {
  readonly credential: BackendCredential;
  readonly found: ConnectedAccountTokens;
  /** Epoch milliseconds. */
  readonly until: number;
}

interface UserCredentialsOptions {
  /** The path of the server. */
  readonly id: string;
  readonly name: string;
  readonly accounts: ConnectedAccounts;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

/** Keyed by grant, so that neither another user nor another client of the same user is ever served with them. */
export function createUserCredentials(options: UserCredentialsOptions): BackendCredentials {
  const { id, name, accounts, clock } = options;
  const context = createClientContext({ clock });
  const cache = createCredentialCache(options, context);

  async function find(grantId: string): Promise<BackendCredential> {
    const found = await accounts.find(grantId, id);
    if (found !== null) return cache.remember(grantId, found);
    cache.forget(grantId);
    throw await connectionRequired(grantId, []);
  }

  async function connectionRequired(grantId: string, scopes: Scopes): Promise<Error> {
    const url = await accounts.createLink(grantId, id, scopes);
    return url === null ? noGrant(name) : new ConnectionRequired(url, name);
  }

  async function ask(grantId: string, scopes: Scopes): Promise<'final' | ConnectionRequired> {
    const required = await connectionRequired(grantId, scopes);
    return required instanceof ConnectionRequired ? required : 'final';
  }

  return {
    for(principal) {
      const grantId = grantOf(principal, name);
      return cache.find(grantId) ?? find(grantId);
    },

    async rejected(principal, answer, credential) {
      const result = processProtectedResourceResponse(context, answer.url, answer);
      if (result.kind === 'retry') return 'retry';
      if (result.kind === 'accepted') return 'final';
      const grantId = grantOf(principal, name);
      cache.forget(grantId, credential);
      const current = await accounts.find(grantId, id);
      if (current === null) return ask(grantId, []);
      // A new connection or a refresh, here or in another process, has replaced it meanwhile.
      if (current.version !== cache.versionOf(credential)) {
        cache.remember(grantId, current);
        return 'retry';
      }
      if (result.kind === 'insufficient_scope')
        return ask(grantId, unionScopes(current.scopes, result.challenge.scopes ?? []));
      const age = clock() / 1000 - current.issuedAt;
      // Below zero, the clock stepped back.
      if (age >= 0 && age < USER_TOKEN_TOO_NEW) return ask(grantId, current.scopes);
      const replaced = await accounts.replace(grantId, id, current.version);
      return replaced === null ? ask(grantId, current.scopes) : 'retry';
    },
  };
}

/** Credentials of connected accounts by grant, for some seconds. */
function createCredentialCache({ id, clock }: UserCredentialsOptions, context: ClientContext) {
  const cache = createLruCache<CachedCredential>({ entries: MAX_CACHED_TOKENS });
  /** The tokens that a credential was made of: concurrent requests are rejected together. */
  const sources = new WeakMap<BackendCredential, ConnectedAccountTokens>();

  return {
    find(grantId: string): BackendCredential | null {
      const cached = cache.get(grantId);
      if (cached === undefined) return null;
      const left = cached.until - clock();
      // More is left of it than there was: the clock stepped back.
      return left > 0 && left <= USER_TOKENS_CACHED_FOR ? cached.credential : null;
    },
    remember(grantId: string, found: ConnectedAccountTokens): BackendCredential {
      const { tokens } = found.tokens.session as CredentialRecord;
      if (tokens === null) throw new TypeError('A stored session has tokens.');
      const known = cache.get(grantId);
      const credential =
        known?.found.version === found.version
          ? known.credential
          : credentialOf(context, tokens, JSON.stringify([id, grantId]));
      sources.set(credential, found);
      const until = Math.min(found.until * 1000, clock() + USER_TOKENS_CACHED_FOR);
      cache.set(grantId, { credential, found, until });
      return credential;
    },
    /** @param credential forgets only this one */
    forget(grantId: string, credential?: BackendCredential): void {
      if (credential === undefined || cache.get(grantId)?.credential === credential) cache.delete(grantId);
    },
    /** The version of the tokens that a credential was made of. */
    versionOf: (credential: BackendCredential) => sources.get(credential)?.version,
  };
}

function grantOf({ grantId }: Principal, name: string): string {
  if (grantId === null) throw noGrant(name);
  return grantId;
}

function noGrant(name: string): OAuthError {
  return new OAuthError(
    'access_denied',
    `${name} needs an account of a user, and this token belongs to none.`,
  );
}
