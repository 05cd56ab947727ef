/** Error pages of the console: what happened, and what to do next. */
import type { ComponentSession } from '@portcullis/authorization-server/pages';
import { OAuthError } from '@portcullis/protocol';
import type { Administration } from '../operations/administration.ts';
import { OperationError } from '../operations/errors.ts';
import { recordFailure } from '../operations/record-failure.ts';
import { CONSOLE_PATH, type ConsoleLink } from './links.ts';

/** A request that is refused with a page. */
export class PageError extends Error {
  override readonly name = 'PageError';
  readonly status: number;
  readonly title: string;
  readonly next: ConsoleLink | null;

  /** @param sentence what to do @param next the link that does it */
  constructor(status: number, title: string, sentence: string, next: ConsoleLink | null = null) {
    super(sentence);
    this.status = status;
    this.title = title;
    this.next = next;
  }
}

/** The signed-in account administers nothing. */
export function noRole({ accountId, email }: ComponentSession): PageError {
  return new PageError(
    403,
    'This account has no role',
    `You are signed in as ${email}. An operator can give the account a role: portcullis users role ${accountId} viewer`,
    { label: 'Your account', href: '/account' },
  );
}

/** The account has to sign in with two factors: it has a second one already, or sets one up first. */
export async function needsSecondFactor(
  { store }: Administration,
  { accountId }: ComponentSession,
): Promise<PageError> {
  const [totp, passkeys] = await Promise.all([
    store.findTotpFactor(accountId),
    store.listPasskeys(accountId),
  ]);
  const isSetUp = totp !== null || passkeys.length > 0;
  return isSetUp
    ? new PageError(
        403,
        'Sign in with two factors',
        'You signed in with one factor. Sign in again, with your authenticator app or a passkey.',
        { label: 'Sign in again', href: '/login?to=console&again=yes' },
      )
    : new PageError(
        403,
        'Set up a second factor',
        'The console is open to accounts that sign in with two factors. Add an authenticator app or a passkey to your account, then come back and sign in with it.',
        { label: 'Set it up on the account page', href: '/account' },
      );
}

const TITLES = {
  not_found: 'It is not here',
  invalid: 'This cannot be used',
  conflict: 'This is not possible now',
} as const;

/** The page of an error. An unknown one is recorded as an event, which the reference on its page finds. */
export function toPageError(error: unknown, admin: Pick<Administration, 'events'>): PageError {
  if (error instanceof PageError) return error;
  if (error instanceof OperationError) return new PageError(error.status, TITLES[error.kind], error.message);
  if (error instanceof OAuthError) {
    return error.code === 'temporarily_unavailable'
      ? new PageError(
          503,
          'Temporarily unavailable',
          'The database is not available: try again in a few seconds.',
        )
      : new PageError(
          error.status === 401 ? 400 : error.status,
          'This form cannot be used',
          error.description,
        );
  }
  const reference = recordFailure(admin, CONSOLE_PATH, error);
  return new PageError(
    500,
    'Something failed here',
    `Try again. The event log has the cause under the reference ${reference}.`,
  );
}
