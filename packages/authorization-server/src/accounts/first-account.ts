/** The first account: made through a one-time link or by the operator's settings, and by nobody else. */
import { type Configuration, ConfigurationError } from '../configuration.ts';
import type { AccountRecord } from '../ports/index.ts';
import { hashSecret, newIdentifier, newSecret } from '../secrets.ts';
import { emailKey } from './email.ts';
import { LONGEST_PASSWORD, normalizePassword } from './password-rules.ts';
import type { Passwords } from './passwords.ts';

export interface FirstAccount {
  /** A link that makes the first account, `null` when there is one. */
  link(): Promise<string | null>;
  /** Whether the token of a link may still make the first account. */
  isOpen(token: string): Promise<boolean>;
  /** Makes it by a link's token; `null` when the link is spent, was never valid, or somebody was faster. */
  create(token: string, email: string, password: string): Promise<AccountRecord | null>;
  /**
   * Makes it by the operator's settings. How good the password is, is the operator's own judgement.
   * @throws ConfigurationError when the address is none, or the password is empty or too long.
   */
  bootstrap(email: string, password: string): Promise<'created' | 'exists'>;
}

export function createFirstAccount(configuration: Configuration, passwords: Passwords): FirstAccount {
  const { issuer, store, clock, events } = configuration;

  const save = async (key: string, email: string, password: string, setupHash: string | null) => {
    const account: AccountRecord = {
      id: newIdentifier('user'),
      email: email.trim(),
      emailKey: key,
      passwordHash: await passwords.hash(password),
      createdAt: clock(),
      disabledAt: null,
    };
    if ((await store.createFirstAccount(account, setupHash)) === 'refused') return null;
    events({ type: 'account.created', accountId: account.id });
    return account;
  };

  return {
    async link() {
      if (await store.hasAccounts()) return null;
      const token = newSecret();
      await store.saveSetupLink(hashSecret(token), clock());
      return `${new URL(issuer).origin}/setup?token=${token}`;
    },
    isOpen: (token) => store.isSetupLink(hashSecret(token)),
    async create(token, email, password) {
      const key = emailKey(email);
      // Hashing is dear: not for links that are closed anyway.
      if (key === null || !(await store.isSetupLink(hashSecret(token)))) return null;
      return save(key, email, password, hashSecret(token));
    },
    async bootstrap(email, password) {
      const key = emailKey(email);
      const length = [...normalizePassword(password)].length;
      const faults: string[] = [];
      if (key === null)
        faults.push('the email of the first account must be an address such as you@example.com');
      if (length < 1 || length > LONGEST_PASSWORD) {
        faults.push(`the password of the first account must have 1 to ${LONGEST_PASSWORD} characters`);
      }
      if (key === null || faults.length > 0) throw new ConfigurationError(faults);
      if (await store.hasAccounts()) return 'exists';
      return (await save(key, email, password, null)) === null ? 'exists' : 'created';
    },
  };
}
