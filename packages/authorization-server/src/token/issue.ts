/** Issues access tokens: builds the claims of a grant's access, signs or encrypts them, and writes the token response. */
import {
  type Actor,
  accessTokenClaims,
  type TokenResponse,
  USER_CLAIMS,
  type UserAuthentication,
  type UserClaim,
  type VerifiedProof,
} from '@portcullis/protocol';
import type { ProviderTokens } from '../federation/provider-tokens.ts';
import type { AccessTokenFormat } from '../keys/access-token-format.ts';
import { newIdentifier } from '../secrets.ts';
import { claimsToRelease, readUserClaims } from '../users/user-claims.ts';
import type { DownscopedAccess } from './downscope.ts';
import type { TokenContext } from './options.ts';

/** The subject of a token, and what the token depends on. */
interface TokenSubject {
  readonly subject: string;
  readonly clientId: string;
  /** `null` when a client acts for itself. */
  readonly grantId: string | null;
  readonly workspace: string | null;
  /** Epoch seconds after which no token may live. */
  readonly until: number;
  /** How the user signed in; absent or `null`: not known. */
  readonly authentication?: UserAuthentication | null | undefined;
  /** The DPoP proof whose key the token is bound to; `null`: a bearer token. */
  readonly proof: VerifiedProof | null;
  /** Who acts for the subject; none by default. */
  readonly actor?: Actor;
  /** Claims about the user that the token may contain; by default all that its resource asks for. */
  readonly sharedClaims?: readonly UserClaim[];
}

/** Issues an access token, and marks its proof as used; the response has no refresh token. */
export type IssueAccessToken = (
  holder: TokenSubject,
  access: DownscopedAccess,
  now: number,
) => Promise<TokenResponse>;

/** @see OAuth 2.1 draft 13 §3.2.3, RFC 6749 §5.1: `scope` MUST be included if it is not what was requested, so it always is */
export function createIssueAccessToken(
  { store, options: { issuer, lifetimes, resources } }: Pick<TokenContext, 'store' | 'options'>,
  { sign, encrypt }: AccessTokenFormat,
): IssueAccessToken {
  const opaqueResources = new Set(
    [...resources.values()]
      .filter(({ accessTokens }) => accessTokens === 'opaque')
      .map(({ resource }) => resource),
  );
  return async (holder, { resource, scopes }, now) => {
    const {
      subject,
      clientId,
      grantId,
      workspace,
      until,
      proof,
      authentication = null,
      actor = null,
      sharedClaims = USER_CLAIMS,
    } = holder;
    const lifetime = Math.min(lifetimes.accessToken, until - now);
    const isOpaque = opaqueResources.has(resource);
    const definition = grantId === null ? undefined : resources.get(resource);
    const requested = definition === undefined ? [] : claimsToRelease(definition, scopes);
    const wanted = requested.filter((claim) => sharedClaims.includes(claim));
    const claims = accessTokenClaims({
      issuer,
      subject,
      clientId,
      resource,
      scopes,
      grantId,
      workspace,
      lifetime,
      issuedAt: now,
      tokenId: newIdentifier('token'),
      keyThumbprint: proof?.thumbprint ?? null,
      actor,
      authentication,
      ...(wanted.length > 0 && { user: await readUserClaims(store, subject, wanted) }),
    });
    // Point of no return: the proof is used, the last thing that can fail before the caller consumes its code or token.
    if (proof !== null) await proof.consume();
    return {
      access_token: isOpaque ? encrypt(claims) : await sign(claims),
      token_type: proof === null ? 'Bearer' : 'DPoP',
      expires_in: lifetime,
      ...(claims.scope !== undefined && { scope: claims.scope }),
    };
  };
}

/**
 * Limits issued tokens by the provider tokens of their grant: ours never outlive or exceed them. Grants check everything before
 * they consume anything, and this is part of the check: while the identity provider is down, no code or refresh token is used up.
 */
export function limitByProviderTokens(
  issue: IssueAccessToken,
  providerTokens: ProviderTokens,
): IssueAccessToken {
  if (!providerTokens.inUse) return issue;
  return async (holder, access, now) => {
    if (holder.grantId === null) return issue(holder, access, now);
    const { until, scopes } = await providerTokens.limitsOf(holder.grantId, access.scopes);
    return issue({ ...holder, until: Math.min(holder.until, until) }, { ...access, scopes }, now);
  };
}
