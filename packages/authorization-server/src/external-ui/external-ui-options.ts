/** Settings of the headless mode, in which an application of the operator shows the pages of sign-in and consent. */

import type * as z from 'zod';
import {
  boolean,
  checkedText,
  lazy,
  list,
  type OptionReport,
  object,
  optional,
  required,
  secret,
} from '../option-schema.ts';

/** Where that application is, and how it proves itself. */
export interface ExternalUiOptions {
  /** Where the application lets people sign in; our own pages do when left out. https, or http on loopback. */
  readonly loginUrl?: string;
  /** Where the application asks for consent; our own page does when left out. https, or http on loopback. */
  readonly consentUrl?: string;
  /** What the application signs its requests with, at least 32 characters. Any of them is taken, so that one can be replaced. */
  readonly secrets: readonly string[];
  /** Whether an address without an account gets one when the application says that its owner signed in. Not when left out. */
  readonly createAccounts?: boolean;
}

/** The same as judged. */
export interface ExternalUiRules {
  /** `null`: our own pages. */
  readonly loginUrl: string | null;
  readonly consentUrl: string | null;
  readonly secrets: readonly string[];
  readonly createAccounts: boolean;
}

/** Whether people sign in at the application, and not on pages of this server. */
export function hasExternalLogin({ externalUi }: { readonly externalUi: ExternalUiRules | null }): boolean {
  return externalUi !== null && externalUi.loginUrl !== null;
}

/** Characters of a secret that cannot be guessed. */
const MINIMUM_SECRET = 32;

export const externalUiSchema: () => z.ZodType<ExternalUiOptions | undefined> = lazy(() => {
  const url = () =>
    checkedText('an https URL without a fragment, or http on loopback', (value) =>
      isPageUrl(value) ? null : 'must be an https URL without a fragment, or http on loopback',
    );
  return object<ExternalUiOptions>({
    loginUrl: optional(url(), 'page on which users sign in', { defaultText: 'the built-in pages' }),
    consentUrl: optional(url(), 'page that asks for consent', { defaultText: 'the built-in page' }),
    secrets: required(
      list(secret(MINIMUM_SECRET), 1),
      'secrets that sign the requests of the application; any of them is accepted, so that one can be replaced',
    ),
    createAccounts: optional(
      boolean(),
      'whether an account is created when the application signs in an unknown email address',
      { default: false },
    ),
  });
});

/** @returns `null`: this server shows every page itself */
export function validateExternalUi(
  options: ExternalUiOptions | undefined,
  report: OptionReport,
): ExternalUiRules | null {
  if (options === undefined || report.isUnread('externalUi')) return null;
  const { loginUrl = null, consentUrl = null, secrets, createAccounts = false } = options;
  if (loginUrl === null && consentUrl === null) {
    report.add(['externalUi'], 'needs a loginUrl, a consentUrl, or both');
  }
  if (createAccounts && loginUrl === null) {
    report.add(['externalUi', 'createAccounts'], 'needs a loginUrl');
  }
  return { loginUrl, consentUrl, secrets, createAccounts };
}

function isPageUrl(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || value.includes('#') || url.username !== '' || url.password !== '') return false;
  const isLoopback = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback);
}
