/** Credentials made of tokens, and a cache of those that the gateway can obtain again without the user. */

import type { Tokens } from '@portcullis/client';
import {
  type ClientContext,
  createClientContext,
  isStale,
  processProtectedResourceResponse,
  protectedResourceHeaders,
} from '@portcullis/client/steps';
import { createLruCache } from '@portcullis/protocol';
import type { Principal } from '@portcullis/resource-server';
import { DEFAULT_TOKEN_LIFETIME, MAX_CACHED_TOKENS, TOKEN_TOO_NEW } from '../limits.ts';
import {
  type BackendAnswer,
  type BackendCredential,
  type ConnectionRequired,
  noCredential,
} from './credential-source.ts';

/** Credentials for one backend; `null`: there are no users. */
export interface BackendCredentials<User extends Principal | null = Principal> {
  for(user: User): BackendCredential | Promise<BackendCredential>;
  rejected(
    user: User,
    answer: BackendAnswer,
    credential: BackendCredential,
  ): Promise<'retry' | 'final' | ConnectionRequired>;
}

/** @param key identity at the backend, as in `BackendCredential` */
export function credentialOf(context: ClientContext, tokens: Tokens, key: string): BackendCredential {
  const { accessToken, scheme, dpopKey } = tokens;
  return {
    headers: { authorization: `${scheme} ${accessToken}` },
    key,
    sign:
      dpopKey === null ? null : (method, url) => protectedResourceHeaders(context, tokens, { method, url }),
  };
}

interface CachedTokens {
  readonly tokens: Tokens;
  readonly credential: BackendCredential;
  /** Epoch milliseconds. */
  readonly obtainedAt: number;
}

/** The same for all users; a rejection is final. */
export function fixedCredentials(
  headers: Readonly<Record<string, string>>,
): BackendCredentials<Principal | null> {
  const credential = Object.keys(headers).length === 0 ? noCredential : { headers, key: '', sign: null };
  return { for: () => credential, rejected: async () => 'final' };
}

interface ObtainedCredentialsOptions<User> {
  /** The cache key of a user's tokens: equal keys share them. @throws OAuthError if there cannot be any */
  readonly keyOf: (user: User) => string;
  readonly obtain: (user: User) => Promise<Tokens>;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

/** Credentials obtained on demand: cached, single flight per identity, replaced when rejected. */
export function createObtainedCredentials<User extends Principal | null>(
  options: ObtainedCredentialsOptions<User>,
): BackendCredentials<User> {
  const { keyOf, obtain, clock } = options;
  const context = createClientContext({ clock });
  const cache = createLruCache<CachedTokens>({ entries: MAX_CACHED_TOKENS });
  const pending = new Map<string, Promise<BackendCredential>>();

  function isUsable({ tokens, obtainedAt }: CachedTokens, now: number): boolean {
    const age = now - obtainedAt;
    // Below zero, the clock stepped back.
    if (age < 0) return false;
    return tokens.expiresAt === null ? age < DEFAULT_TOKEN_LIFETIME : !isStale(tokens, now);
  }

  async function obtainNow(user: User, key: string): Promise<BackendCredential> {
    const tokens = await obtain(user);
    const credential = credentialOf(context, tokens, key);
    cache.set(key, { tokens, credential, obtainedAt: clock() });
    return credential;
  }

  return {
    for(user) {
      const key = keyOf(user);
      const cached = cache.get(key);
      if (cached !== undefined && isUsable(cached, clock())) return cached.credential;
      const running = pending.get(key) ?? obtainNow(user, key).finally(() => pending.delete(key));
      pending.set(key, running);
      return running;
    },
    async rejected(user, answer, credential) {
      const { kind } = processProtectedResourceResponse(context, answer.url, answer);
      if (kind === 'retry') return 'retry';
      if (kind !== 'rejected') return 'final';
      const key = keyOf(user);
      const cached = cache.get(key);
      if (cached === undefined || cached.credential !== credential) return 'retry';
      const age = clock() - cached.obtainedAt;
      if (age >= 0 && age < TOKEN_TOO_NEW) return 'final';
      cache.delete(key);
      return 'retry';
    },
  };
}
