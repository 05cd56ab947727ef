/** Creates the first account, through a one-time setup link or from the operator's configuration. */
import { ConfigurationError } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
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

export type FirstAccountSetup = ReturnType<typeof createFirstAccountSetup>;

const PASSWORD_ISSUE_MESSAGES: Readonly<Record<PasswordIssue, string>> = {
  short: `must have at least ${MIN_PASSWORD_LENGTH} characters`,
  long: `must have at most ${MAX_PASSWORD_LENGTH} characters`,
  address: 'must not be the email address',
  guessable: 'must not be a commonly guessed password',
};

/** Issues of the configured e-mail address and password of the first account, each a predicate without its subject. */
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

export function createFirstAccountSetup(context: ServerContext, passwords: Passwords) {
  const { store, clock, events } = context;
  const { issuer } = context.options;

  const save = async (key: string, email: string, password: string, setupHash: string | null) => {
    const passwordHash = await passwords.hash(password, key);
    const account = createAccountRecord(email.trim(), key, passwordHash, clock(), 'operator');
    if ((await store.createFirstAccount(account, setupHash)) === 'refused') return null;
    events({ type: 'account.created', accountId: account.id });
    return account;
  };

  return {
    /** A one-time setup link, valid for a day; `null` once there is an account, also of an identity provider. */
    async createLink(): Promise<string | null> {
      const token = newSecret();
      if (!(await store.saveSetupLink(hashSecret(token), clock()))) return null;
      return `${new URL(issuer).origin}/setup?token=${token}`;
    },
    /** Whether a link's token can still be used. */
    isValidToken: (token: string): Promise<boolean> => store.isSetupLink(hashSecret(token), clock()),
    /** Creates the account with a link's token; `null` for a used or invalid token, or if a concurrent request won. */
    async create(token: string, email: string, password: string): Promise<AccountRecord | null> {
      const key = emailKey(email);
      // Hashing is expensive: check the token first.
      if (key === null || !(await store.isSetupLink(hashSecret(token), clock()))) return null;
      return save(key, email, password, hashSecret(token));
    },
    /**
     * Creates the account from the operator's configuration.
     * @throws ConfigurationError for an invalid e-mail address or a password that breaks the password rules
     */
    async bootstrap(email: string, password: string): Promise<'created' | 'exists'> {
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
