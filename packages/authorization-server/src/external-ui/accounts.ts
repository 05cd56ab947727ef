/** Accounts of users whom the external UI logs in: found by their address, or created. */
import { OAuthError } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { hashSecret, newSecret } from '../secrets.ts';
import type { AccountRecord } from '../store/index.ts';
import { createAccountRecord, emailKey } from '../users/accounts.ts';
import { unusableHash } from '../users/passwords.ts';
import type { ExternalUiRules } from './options.ts';

/** @throws OAuthError `invalid_request` when there is no such account and none may be created, or it is disabled */
export async function findOrCreateAccount(
  context: ServerContext,
  { createAccounts }: ExternalUiRules,
  email: string,
): Promise<AccountRecord> {
  const found = await findAccountByAddress(context, email);
  if (found === null && !createAccounts)
    throw new OAuthError('invalid_request', 'There is no account with this address: add it first.');
  const account = found ?? (await createAccount(context, email));
  if (account.disabledAt !== null) throw new OAuthError('invalid_request', 'The account is disabled.');
  return account;
}

/** @throws OAuthError `invalid_request` when it is not an address */
export async function findAccountByAddress(
  { store }: ServerContext,
  email: string,
): Promise<AccountRecord | null> {
  return store.findAccountByEmail(readKey(email));
}

function readKey(email: string): string {
  const key = emailKey(email);
  if (key === null) throw new OAuthError('invalid_request', 'The member email must be an address.');
  return key;
}

/** An account without a password: only the external UI can log its user in. */
async function createAccount(context: ServerContext, email: string): Promise<AccountRecord> {
  const { store, clock, events } = context;
  const createdAt = clock();
  const account = createAccountRecord(email.trim(), readKey(email), unusableHash(), createdAt);
  const hash = hashSecret(newSecret());
  const expiredLink = { hash, accountId: account.id, createdAt, expiresAt: createdAt };
  if (await store.createAccount(account, { ...expiredLink, purpose: 'invitation' })) {
    events({ type: 'account.created', accountId: account.id });
    return account;
  }
  const other = await findAccountByAddress(context, email);
  if (other === null) throw new OAuthError('server_error', 'The account could not be created: try again.');
  return other;
}
