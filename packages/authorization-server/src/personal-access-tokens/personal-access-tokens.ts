/** Personal access tokens, an optional feature: creates them for users, and reads them for resource servers. */
import { type AccessTokenClaims, accessTokenClaims, type Scopes } from '@portcullis/protocol';
import { PERSONAL_ACCESS_TOKEN_CLIENT } from '../clients/client.ts';
import type { ServerContext, StoreContext } from '../context.ts';
import type { ResourceContext, ResourceDefinition } from '../resources/options.ts';
import { hashSecret, matchesSecret, newIdentifier, newSecret } from '../secrets.ts';
import type { GrantRecord } from '../store/index.ts';
import { findLiveGrant } from '../users/administer-connections.ts';
import { findScopeLimit } from '../users/scope-limits.ts';
import { claimsToRelease, readUserClaims } from '../users/user-claims.ts';
import { isAhead } from '../wrong-clock.ts';

/** What secret scanners look for. Then the random part of the grant's identifier (25 characters) and a secret (43). */
const PREFIX = 'portcullis_pat_';
const FORM = new RegExp(`^${PREFIX}([\\w-]{25})[\\w-]{43}$`);
const GRANT_PREFIX = 'grant_';

/** Seconds between two records of use. */
const RECORD_EVERY = 3600;

/** Live tokens of one account. */
const MAX_TOKENS = 50;

export interface NewPersonalAccessToken {
  readonly accountId: string;
  readonly name: string;
  readonly resource: string;
  readonly scopes: Scopes;
  /** Seconds. */
  readonly lifetime: number;
}

/** `too-many`: the account has as many as it may have; `account-unavailable`: it is disabled or gone. */
export type PersonalAccessTokenCreation =
  | { readonly token: string; readonly expiresAt: number }
  | 'too-many'
  | 'account-unavailable';

/** @returns the token, which cannot be read again: the store has its hash */
export async function createPersonalAccessToken(
  { store, clock, events }: StoreContext,
  { accountId, name, resource, scopes, lifetime }: NewPersonalAccessToken,
): Promise<PersonalAccessTokenCreation> {
  const now = clock();
  if (await hasMaximumTokens(store, accountId, now)) return 'too-many';
  const grant: GrantRecord = {
    id: newIdentifier('grant'),
    clientId: PERSONAL_ACCESS_TOKEN_CLIENT,
    accountId,
    scopes,
    resources: [resource],
    workspace: null,
    consentDigest: '',
    createdAt: now,
    expiresAt: now + lifetime,
    lastUsedAt: now,
    lastUsedFrom: null,
  };
  const token = `${PREFIX}${grant.id.slice(GRANT_PREFIX.length)}${newSecret()}`;
  const record = { grantId: grant.id, hash: hashSecret(token), name };
  if (!(await store.savePersonalAccessToken(record, grant))) return 'account-unavailable';
  events({ type: 'personal_access_token.created', accountId, grantId: grant.id, resource, scopes });
  return { token, expiresAt: grant.expiresAt };
}

async function hasMaximumTokens(
  store: ServerContext['store'],
  accountId: string,
  now: number,
): Promise<boolean> {
  const clientId = PERSONAL_ACCESS_TOKEN_CLIENT;
  if (!(await store.hasClientGrants(accountId, clientId, MAX_TOKENS))) return false;
  // Some may have expired.
  const live = await store.listGrants(accountId, now, { clientId, createdAt: 0, id: '' }, MAX_TOKENS);
  return live.filter((grant) => grant.clientId === clientId).length >= MAX_TOKENS;
}

/**
 * The claims of a live personal access token, as an access token of its user would have them; `null` for any other text, and for
 * one that has expired or was revoked.
 */
export type ReadPersonalAccessToken = (token: string) => Promise<AccessTokenClaims | null>;

export function createReadPersonalAccessToken(
  context: Pick<ResourceContext, 'store' | 'clock' | 'options'>,
): ReadPersonalAccessToken {
  const { store, clock, options } = context;
  const { issuer, resources } = options;
  return async (token) => {
    const [, identifier] = FORM.exec(token) ?? [];
    if (identifier === undefined) return null;
    const grant = await findGrant(`${GRANT_PREFIX}${identifier}`, token);
    const definition = resources.get(grant?.resources[0] ?? '');
    if (grant === null || definition === undefined) return null;
    await recordUse(grant);
    return claimsOf(grant, definition);
  };

  async function findGrant(grantId: string, token: string): Promise<GrantRecord | null> {
    const stored = await store.findPersonalAccessToken(grantId);
    if (stored === null || !matchesSecret(token, stored.hash)) return null;
    const grant = await findLiveGrant(context, grantId);
    return grant?.hasAccount === true ? grant : null;
  }

  /** Never rejects: the token is valid. */
  async function recordUse({ id, lastUsedAt }: GrantRecord): Promise<void> {
    const now = clock();
    if (now >= lastUsedAt + RECORD_EVERY || isAhead(lastUsedAt, now)) {
      await store.recordPersonalAccessTokenUse(id, now).catch(() => {});
    }
  }

  async function claimsOf(
    { id, clientId, accountId, scopes, createdAt, expiresAt }: GrantRecord,
    definition: ResourceDefinition,
  ): Promise<AccessTokenClaims> {
    const defined = scopes.filter((scope) => Object.hasOwn(definition.scopes, scope));
    const limit = await findScopeLimit(context, definition, { clientId, accountId }, defined);
    const grantable = limit.grantable(defined);
    const wanted = claimsToRelease(definition, grantable);
    return accessTokenClaims({
      issuer,
      subject: accountId,
      clientId,
      resource: definition.resource,
      scopes: grantable,
      tokenId: id,
      grantId: id,
      issuedAt: createdAt,
      lifetime: expiresAt - createdAt,
      ...(wanted.length > 0 && { user: await readUserClaims(store, accountId, wanted) }),
    });
  }
}
