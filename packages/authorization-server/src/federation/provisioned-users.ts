/**
 * Users whom an identity provider provisions by SCIM: how they are found at sign-in, and how an account is found for them. Both sides
 * are of the same provider: the external identifier is one that it assigns, an address one that it verified. A local account is never found.
 */
import { OAuthError } from '@portcullis/protocol';
import type { AccountRecord, AuthorizationStore, ProvisionedResource } from '../store/index.ts';
import { emailForms, emailKey, findAccountsByVerifiedEmail } from '../users/accounts.ts';
import { claimAt, type FederatedUser, isUserAllowed, readProfile } from './provider/federated-user.ts';
import type { IdentityProvider } from './provider/identity-provider.ts';

/** Addresses that are looked up for one user. */
const MAX_ADDRESSES = 5;
/** Provisioned users that are looked up for one address. */
const MAX_USERS = 10;

/** The account of a user who signed in with this provider before; `null`: none, or more than one. */
export async function findProvisionedAccount(
  store: AuthorizationStore,
  { provider, scim }: IdentityProvider,
  { externalId, addresses }: { readonly externalId: string | null; readonly addresses: readonly string[] },
): Promise<string | null> {
  if (externalId !== null && scim?.externalId === 'sub') {
    const linked = await store.findLinkedIdentity(provider.issuer, externalId);
    if (linked !== null) return linked.accountId;
    if (scim.isExternalIdNamed) return null;
  }
  const keys = addresses.slice(0, MAX_ADDRESSES).flatMap((address) => emailKey(address) ?? []);
  const found = new Set<string>();
  for (const key of keys) {
    for (const { id } of await findAccountsByVerifiedEmail(store, key)) {
      const linked = await store.findLinkedIdentityByAccount(id);
      if (linked?.issuer === provider.issuer) found.add(id);
    }
  }
  const [account = null, another] = found;
  return another === undefined ? account : null;
}

/** The provisioned user who signs in, by external identifier, else by verified address; `null`: none, or several with at least one active. */
async function findProvisionedUser(
  store: AuthorizationStore,
  { id, scim, userClaims }: IdentityProvider,
  user: FederatedUser,
): Promise<ProvisionedResource | null> {
  if (scim === null) return null;
  const claimed = scim.externalId === 'sub' ? user.subject : claimAt(user.claims, scim.externalId);
  // Providers assign addresses again. Without the setting, `externalId` may be of their own making.
  const isOther = ({ attributes: { externalId } }: ProvisionedResource) =>
    scim.isExternalIdNamed && typeof claimed === 'string' && typeof externalId === 'string';
  const find = async (attribute: 'externalId' | 'userName' | 'emails', ...values: readonly string[]) => {
    const all = new Map<string, ProvisionedResource>();
    const page = { after: '', skip: 0, limit: MAX_USERS };
    for (const value of values) {
      const filter = { by: 'key', key: { attribute, value } } as const;
      for (const one of await store.listProvisioned(id, 'User', filter, page))
        if (attribute === 'externalId' || !isOther(one)) all.set(one.id, one);
    }
    const [found = null, another] = all.values();
    return another === undefined || all.values().every(({ isActive }) => !isActive) ? found : null;
  };
  const known = typeof claimed === 'string' ? await find('externalId', claimed) : null;
  if (known !== null) return known;
  const { email } = readProfile(user, userClaims);
  const key = email === null ? null : emailKey(email);
  if (key === null) return null;
  const forms = emailForms(key);
  return (await find('userName', ...forms)) ?? (await find('emails', ...forms));
}

/**
 * Finds the provisioned user, whom the provider must not have deactivated; `null`: there is none.
 * @throws OAuthError `access_denied` for a deactivated user, and for one who is not provisioned where only those are allowed
 */
async function checkProvisionedUser(
  store: AuthorizationStore,
  identityProvider: IdentityProvider,
  user: FederatedUser,
): Promise<ProvisionedResource | null> {
  const provisioned = await findProvisionedUser(store, identityProvider, user);
  const isRequired = identityProvider.scim?.provisionedOnly === true;
  if (provisioned?.isActive === false) throw userNotAllowed('the provisioned user is not active');
  if (provisioned === null && isRequired) throw userNotAllowed('the user is not provisioned');
  return provisioned;
}

/**
 * Checks a user of an issuer, which several identity providers may share: one must allow the user, and none may have
 * deactivated the user.
 * @returns the identity provider that provisions the user, else the first with SCIM
 * @throws OAuthError `access_denied`, as there
 */
export async function checkUserOfIssuer(
  store: AuthorizationStore,
  identityProviders: ReadonlyMap<string, IdentityProvider>,
  user: FederatedUser,
): Promise<IdentityProvider | null> {
  const all = [...identityProviders.values()].filter(({ provider }) => provider.issuer === user.issuer);
  if (all.length > 0 && !all.some(({ allowedUsers }) => isUserAllowed(allowedUsers, user)))
    throw userNotAllowed('the user is not among the allowed users of the identity provider');
  const withScim = all.filter(({ scim }) => scim !== null);
  const provisioned: IdentityProvider[] = [];
  for (const one of withScim)
    if ((await checkProvisionedUser(store, one, user)) !== null) provisioned.push(one);
  return provisioned[0] ?? withScim[0] ?? null;
}

/**
 * Finds or creates the account of a user who is allowed by `checkProvisionedUser`, and gives it to the provisioned user.
 * @throws OAuthError `access_denied`, as there
 */
export async function resolveProvisionedUser<Account extends Pick<AccountRecord, 'id'>>(
  store: AuthorizationStore,
  identityProvider: IdentityProvider,
  user: FederatedUser,
  resolve: () => Promise<Account>,
): Promise<Account> {
  const provisioned = await checkProvisionedUser(store, identityProvider, user);
  const isRequired = identityProvider.scim?.provisionedOnly === true;
  const account = await resolve();
  if (provisioned === null || provisioned.accountId === account.id) return account;
  const isLinked = await store.linkProvisionedAccount(provisioned.id, account.id);
  if (isLinked) return account;
  // Deactivated meanwhile, or the provisioned user is another one with the same address.
  const now = await store.findProvisioned(identityProvider.id, 'User', provisioned.id);
  if (isRequired || now?.isActive !== true) throw userNotAllowed('the provisioned user has another account');
  return account;
}

export function userNotAllowed(reason: string): OAuthError {
  return new OAuthError('access_denied', 'This user is not allowed to log in here.', { reason });
}
