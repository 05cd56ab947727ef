/** Finds the account of an asserted user: by issuer and subject, then by verified email address if allowed, else a new one. */
import type { ServerContext } from '../context.ts';
import { newFederatedAccount } from '../federation/linked-users.ts';
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

export function createFindAssertedUser({
  store,
  clock,
  events,
}: Pick<ServerContext, 'store' | 'clock' | 'events'>): FindAssertedUser {
  return async (claims, { linkByEmail = false, createAccounts = true }) => {
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
  };

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
    const created = newFederatedAccount(iss, sub, name, clock());
    const accountId = await store.linkIdentity({ issuer: iss, subject: sub, accountId: created.id }, created);
    if (accountId === created.id) events({ type: 'account.created', accountId, identityProvider: iss });
    return accountId;
  }
}

function checkEnabled(account: AccountRecord | null): void {
  if (account?.disabledAt === null) return;
  throw invalidAssertion('the account is disabled or gone');
}
