/** People of third parties and their accounts here: the key is who the issuer says that they are, never an address. */
import { unusableHash } from '../accounts/passwords.ts';
import type { Configuration } from '../configuration.ts';
import type { AccountRecord } from '../ports/index.ts';
import { hashSecret, newIdentifier } from '../secrets.ts';
import type { ThirdPartyPerson } from './person.ts';
import type { ThirdParty } from './third-party.ts';

export interface People {
  /** The account of a person; made when there is none. */
  resolve(person: ThirdPartyPerson, thirdParty: ThirdParty): Promise<AccountRecord>;
  /** The third party by which the owner of an account signs in; `null` for accounts of this server's own; `gone` when it left the configuration. */
  thirdPartyOf(accountId: string): Promise<ThirdParty | null | 'gone'>;
}

export function createPeople({ store, clock, events, thirdParties }: Configuration): People {
  return {
    async resolve({ issuer, subject, name }, thirdParty) {
      const known = await store.findPerson(issuer, subject);
      const account = known === null ? null : await store.findAccount(known.accountId);
      if (account !== null) return account;
      const made: AccountRecord = {
        id: newIdentifier('user'),
        email: `${name ?? subject} (${thirdParty.name})`,
        // No address has this form, so nobody signs in to it here, and it is never taken for somebody's address.
        emailKey: `third-party:${hashSecret(JSON.stringify([issuer, subject]))}`,
        passwordHash: unusableHash(),
        createdAt: clock(),
        disabledAt: null,
      };
      const accountId = await store.addPerson({ issuer, subject, accountId: made.id }, made);
      if (accountId === made.id) {
        events({ type: 'account.created', accountId, thirdParty: thirdParty.id });
        return made;
      }
      return (await store.findAccount(accountId)) ?? made;
    },
    async thirdPartyOf(accountId) {
      if (thirdParties.size === 0) return null;
      const person = await store.findPersonOf(accountId);
      if (person === null) return null;
      return [...thirdParties.values()].find(({ provider }) => provider.issuer === person.issuer) ?? 'gone';
    },
  };
}
