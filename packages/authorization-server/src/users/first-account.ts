/** The first account: made through a one-time link or by the operator's settings, and by nobody else. */
import { ConfigurationError } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import { hashSecret, newSecret } from '../secrets.ts';
import type { AccountRecord } from '../store/index.ts';
import { createAccountRecord, emailKey } from './accounts.ts';
import {
  findPasswordIssue,
  MAX_PASSWORD_LENGTH,
  MIN_PASSWORD_LENGTH,
  type PasswordIssue,
} from './password-rules.ts';
import type { Passwords } from './passwords.ts';

export interface FirstAccountSetup {
  /** A link that makes the first account, `null` when there is one. */
  createLink(): Promise<string | null>;
  /** Whether the token of a link may still make the first account. */
  isValidToken(token: string): Promise<boolean>;
  /** Makes it by a link's token; `null` when the link is spent, was never valid, or somebody was faster. */
  create(token: string, email: string, password: string): Promise<AccountRecord | null>;
  /**
   * Makes it by the operator's settings, by the rules of the sign-in page.
   * @throws ConfigurationError when the address is none, or the password may not be chosen.
   */
  bootstrap(email: string, password: string): Promise<'created' | 'exists'>;
}

const PASSWORD_ISSUE_MESSAGES: Readonly<Record<PasswordIssue, string>> = {
  short: `must have at least ${MIN_PASSWORD_LENGTH} characters`,
  long: `must have at most ${MAX_PASSWORD_LENGTH} characters`,
  address: 'must not be the address',
  guessable: 'must not be one of the first that are guessed',
};

/** What is wrong with an address and a password that an operator chose for the first account: a sentence without a subject each. */
export function findFirstAccountIssues(
  email: string,
  password: string,
): { readonly email: string | null; readonly password: string | null } {
  const key = emailKey(email);
  const issue = findPasswordIssue(password, key ?? '');
  return {
    email: key === null ? 'must be an address such as you@example.com' : null,
    password: issue === null ? null : PASSWORD_ISSUE_MESSAGES[issue],
  };
}

export function createFirstAccountSetup(
  configuration: Configuration,
  passwords: Passwords,
): FirstAccountSetup {
  const { issuer, store, clock, events } = configuration;

  const save = async (key: string, email: string, password: string, setupHash: string | null) => {
    const account = createAccountRecord(email, key, await passwords.hash(password, key), clock());
    if ((await store.createFirstAccount(account, setupHash)) === 'refused') return null;
    events({ type: 'account.created', accountId: account.id });
    return account;
  };

  return {
    async createLink() {
      if (await store.hasLocalAccounts()) return null;
      const token = newSecret();
      await store.saveSetupLink(hashSecret(token), clock());
      return `${new URL(issuer).origin}/setup?token=${token}`;
    },
    isValidToken: (token) => store.isSetupLink(hashSecret(token)),
    async create(token, email, password) {
      const key = emailKey(email);
      // Hashing is dear: not for links that are closed anyway.
      if (key === null || !(await store.isSetupLink(hashSecret(token)))) return null;
      return save(key, email, password, hashSecret(token));
    },
    async bootstrap(email, password) {
      const key = emailKey(email);
      const issues = findFirstAccountIssues(email, password);
      const wrong = Object.entries(issues).filter(([, issue]) => issue !== null);
      if (key === null || wrong.length > 0) {
        throw new ConfigurationError(
          wrong.map(([name, issue]) => `the ${name} of the first account ${issue}`),
        );
      }
      if (await store.hasLocalAccounts()) return 'exists';
      return (await save(key, email, password, null)) === null ? 'exists' : 'created';
    },
  };
}
