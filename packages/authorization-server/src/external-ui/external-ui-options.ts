/** Options of the external UI, with which an application of the operator shows login and consent. */
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

/** Options of the external UI: its pages, and the secrets it signs requests with. */
export interface ExternalUiOptions {
  /** Sign-in page of the application; https, or http on loopback. Default: the pages of this server. */
  readonly loginUrl?: string;
  /** Consent page of the application; https, or http on loopback. Default: the page of this server. */
  readonly consentUrl?: string;
  /** Shared secrets for signed requests, at least 32 characters each. All are accepted, so that one can be rotated. */
  readonly secrets: readonly string[];
  /** Whether an email address without an account gets one when the application reports its login. Default: `false`. */
  readonly createAccounts?: boolean;
}

/** Validated options of the external UI. */
export interface ExternalUiRules {
  /** `null`: the pages of this server. */
  readonly loginUrl: string | null;
  readonly consentUrl: string | null;
  readonly secrets: readonly string[];
  readonly createAccounts: boolean;
}

/** Whether users sign in at the application instead of on pages of this server. */
export function hasExternalLogin({ externalUi }: { readonly externalUi: ExternalUiRules | null }): boolean {
  return externalUi !== null && externalUi.loginUrl !== null;
}

/** Minimum length of a shared secret in characters. */
const MIN_SECRET_LENGTH = 32;

export const externalUiSchema: () => z.ZodType<ExternalUiOptions | undefined> = lazy(() => {
  const url = () =>
    checkedText('an https URL without a fragment, or http on loopback', (value) =>
      isPageUrl(value) ? null : 'must be an https URL without a fragment, or http on loopback',
    );
  return object<ExternalUiOptions>({
    loginUrl: optional(url(), 'page on which users sign in', { defaultText: 'the built-in pages' }),
    consentUrl: optional(url(), 'page that asks for consent', { defaultText: 'the built-in page' }),
    secrets: required(
      list(secret(MIN_SECRET_LENGTH), 1),
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
