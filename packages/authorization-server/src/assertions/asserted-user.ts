/** Finds the account of an asserted user: by issuer and subject, then by verified email address if allowed, else a new one. */
import { OAuthError } from '@portcullis/protocol';
import { newFederatedAccount } from '../federation/linked-users.ts';
import type { FederationContext } from '../federation/provider/identity-provider.ts';
import { checkUserOfIssuer, resolveProvisionedUser } from '../federation/provisioned-users.ts';
import type { AccountRecord } from '../store/index.ts';
import { emailKey } from '../users/accounts.ts';
import { invalidAssertion } from './assertion-error.ts';
import type { TrustedIssuer } from './assertion-issuers.ts';
import type { VerifiedAssertion } from './verify-assertion.ts';

/** Decides first and writes later: a rejected request changes nothing. */
interface AssertedUser {
  /** `null` for a user without an account. */
  readonly accountId: string | null;
  /** Links or creates the account. @returns its identifier */
  save(): Promise<string>;
}

/** @throws OAuthError `invalid_grant` when no enabled account may be used */
export type FindAssertedUser = (
  claims: VerifiedAssertion['claims'],
  issuer: TrustedIssuer,
) => Promise<AssertedUser>;

export function createFindAssertedUser(context: FederationContext): FindAssertedUser {
  const { store, clock, events } = context;
  const { identityProviders } = context.options;
  return async (claims, issuer) => {
    const { iss, sub } = claims;
    const user = { issuer: iss, subject: sub, name: null, claims };
    // Checked at each assertion: an excluded user may still have a linked account.
    const identityProvider = await asAssertionError(checkUserOfIssuer(store, identityProviders, user));
    const found = await find(claims, issuer);
    if (identityProvider === null) return found;
    const { accountId, save } = found;
    const isLocal = accountId !== null && (await store.findLinkedIdentity(iss, sub)) === null;
    // Else the provider could disable or remove a local account.
    if (isLocal) return found;
    const resolve = async () => ({ id: await save() });
    return {
      accountId,
      save: async () =>
        (await asAssertionError(resolveProvisionedUser(store, identityProvider, user, resolve))).id,
    };
  };

  async function find(
    claims: VerifiedAssertion['claims'],
    { linkByEmail = false, createAccounts = true }: TrustedIssuer,
  ): Promise<AssertedUser> {
    const { iss, sub } = claims;
    const known =
      (await store.findLinkedIdentity(iss, sub))?.accountId ?? (await store.findAssertedIdentity(iss, sub));
    if (known !== null) {
      checkEnabled(await store.findAccount(known));
      return { accountId: known, save: async () => known };
    }
    const local = linkByEmail ? await findByEmail(claims) : null;
    if (local !== null) {
      checkEnabled(local);
      return { accountId: local.id, save: () => link(iss, sub, local.id) };
    }
    if (!createAccounts) throw invalidAssertion('its user has no account');
    return { accountId: null, save: () => create(claims) };
  }

  /** An address that was not verified links nothing, and must not look like a link either. */
  async function findByEmail({ email, email_verified: verified }: VerifiedAssertion['claims']) {
    const key = typeof email === 'string' ? emailKey(email) : null;
    const account = key === null ? null : await store.findAccountByEmail(key);
    if (account !== null && verified !== true) throw invalidAssertion('its email address is not verified');
    return account;
  }

  async function link(issuer: string, subject: string, accountId: string): Promise<string> {
    if (!(await store.linkAssertedIdentity(issuer, subject, accountId))) {
      throw invalidAssertion('the account belongs to another subject of that issuer');
    }
    events({ type: 'account.linked', accountId, issuer });
    return accountId;
  }

  async function create({ iss, sub, email, email_verified: verified }: VerifiedAssertion['claims']) {
    const name = verified === true && typeof email === 'string' && emailKey(email) !== null ? email : sub;
    // Never an address or an identifier alone, by which another account could be named.
    const known = [...identityProviders.values()].find(({ provider }) => provider.issuer === iss);
    const label = `${name} (${known?.name ?? new URL(iss).host})`;
    const created = newFederatedAccount(iss, sub, label, clock());
    const accountId = await store.linkIdentity({ issuer: iss, subject: sub, accountId: created.id }, created);
    if (accountId === created.id) events({ type: 'account.created', accountId, identityProvider: iss });
    return accountId;
  }
}

async function asAssertionError<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'access_denied')
      throw invalidAssertion(error.reason ?? 'its user is not allowed');
    throw error;
  }
}

function checkEnabled(account: AccountRecord | null): void {
  if (account?.disabledAt === null) return;
  throw invalidAssertion('the account is disabled or gone');
}
