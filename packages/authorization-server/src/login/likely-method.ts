/**
 * What a user who typed an address likely signs in with. It follows from the configuration; from an account only in a browser that
 * has signed in to it before, so that accounts cannot be enumerated.
 */
import type { HttpRequest } from '@portcullis/http';
import type { PageContext } from '../authorization/page-context.ts';
import { emailKey } from '../users/accounts.ts';
import type { DeviceCookies } from '../users/device-cookie.ts';

/** The identity provider of the address's domain, a passkey, or else the password; the others remain on the page. */
export type LikelyMethod = { readonly provider: string } | 'passkey' | 'password';

/** @param email as the user typed it */
export async function findLikelyMethod(
  { options, store }: Pick<PageContext, 'options' | 'store'>,
  deviceCookies: DeviceCookies,
  request: HttpRequest,
  email: string,
): Promise<LikelyMethod> {
  const key = emailKey(email) ?? '';
  const provider = [...options.identityProviders.values()].find(({ allowedUsers: { emailDomains = [] } }) =>
    emailDomains.some((domain) => key.endsWith(`@${domain.trim().toLowerCase()}`)),
  );
  if (provider !== undefined) return { provider: provider.id };
  // Without a device cookie, no account is looked up.
  if (!deviceCookies.isPresent(request)) return 'password';
  const account = await store.findAccountByEmail(key);
  if (deviceCookies.findDevice(request, account) === null || account === null) return 'password';
  return (await store.listPasskeys(account.id)).length > 0 ? 'passkey' : 'password';
}
