/** Whom an access token lets administer: the user or client, the second factor, and the role as known now. */
import { isIP } from 'node:net';
import { PERSONAL_ACCESS_TOKEN_CLIENT } from '@portcullis/authorization-server';
import { OAuthError, satisfiesAcr, TWO_FACTORS } from '@portcullis/protocol';
import type { Principal } from '@portcullis/resource-server';
import { ProblemError } from './api/problem.ts';
import { checkScope, isOfClient } from './check-scope.ts';
import type { AdminSources, AuthorizedCaller, Operator } from './operations/administration.ts';
import { type FindRole, scopesOfRole } from './operations/roles.ts';
import { ADMIN_READ, ADMIN_WRITE, type AdminOptions } from './settings.ts';

/** @throws OAuthError `insufficient_user_authentication`, with what is demanded @see RFC 9470 §3 */
export type AuthorizeCaller = (principal: Principal) => Promise<AuthorizedCaller>;

export function createAuthorizeCaller(
  { issuer, store }: Pick<AdminSources, 'issuer' | 'store'>,
  findRole: FindRole,
  { secondFactor }: Pick<AdminOptions, 'secondFactor'>,
): AuthorizeCaller {
  const hasPasskeys = isIP(new URL(issuer).hostname.replace(/^\[|\]$/g, '')) === 0;
  return authorize;

  async function authorize(principal: Principal): Promise<AuthorizedCaller> {
    const operator = operatorOf(principal);
    if (secondFactor && operator.accountId !== null && !(await hasTwoFactors(store, hasPasskeys, principal)))
      throw new OAuthError(
        'insufficient_user_authentication',
        'Administration needs a sign-in with two factors: set one up on the account page, and sign in again.',
        { authentication: { acrValues: [TWO_FACTORS] }, scopes: principal.scopes },
      );
    const permitted = scopesOfRole(await findRole(operator));
    const requireScope = (scope: string) => {
      checkScope(principal, scope, { [ADMIN_WRITE]: [ADMIN_READ] });
      if (!permitted.includes(scope))
        throw new ProblemError(
          403,
          'This account or client has no role that permits this: an operator can change its role.',
        );
    };
    const isStillPermitted = async (scope: string) => {
      try {
        (await authorize(principal)).requireScope(scope);
        return true;
      } catch {
        return false;
      }
    };
    return { operator, requireScope, isStillPermitted };
  }
}

function operatorOf(principal: Principal): Operator {
  const { subject, clientId, grantId } = principal;
  return { accountId: isOfClient(principal) ? null : subject, clientId, grantId };
}

/**
 * A personal access token has no sign-in: its account needs a second factor that is as old as the token, since a newer one says nothing
 * about who created the token.
 * @param hasPasskeys whether passkeys can be used: at an IP address they cannot, and nothing asks for one before a token is created
 */
async function hasTwoFactors(
  store: AdminSources['store'],
  hasPasskeys: boolean,
  { claims: { acr, iat }, clientId, subject }: Principal,
): Promise<boolean> {
  if (typeof acr === 'string') return satisfiesAcr(acr, [TWO_FACTORS]);
  if (clientId !== PERSONAL_ACCESS_TOKEN_CLIENT) return false;
  const [totp, passkeys] = await Promise.all([
    store.findTotpFactor(subject),
    hasPasskeys ? store.listPasskeys(subject) : [],
  ]);
  const factors = totp === null ? passkeys : [totp, ...passkeys];
  return factors.some(({ createdAt }) => createdAt <= Number(iat));
}
