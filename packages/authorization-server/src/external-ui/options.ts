/** Options of the external UI, with which an application of the operator shows login and consent. */

import * as z from 'zod';
import {
  checkedText,
  type InputOf,
  lazy,
  list,
  type OutputOf,
  option,
  optionMeta,
  secret,
} from '../option-fields.ts';
import type { OptionReport } from '../option-reader.ts';

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

/** Options of the external UI: its pages, and the secrets it signs requests with. */
export const externalUiSchema = lazy(() => {
  const url = () =>
    checkedText('an https URL without a fragment, or http on loopback', (value) =>
      isPageUrl(value) ? null : 'must be an https URL without a fragment, or http on loopback',
    );
  return z.strictObject({
    loginUrl: url()
      .optional()
      .describe('page on which users sign in')
      .register(optionMeta, { defaultText: 'the built-in pages' }),
    consentUrl: url()
      .optional()
      .describe('page that asks for consent')
      .register(optionMeta, { defaultText: 'the built-in page' }),
    secrets: list(secret(MIN_SECRET_LENGTH), 1).describe(
      'secrets that sign the requests of the application; any of them is accepted, so that one can be replaced',
    ),
    createAccounts: z
      .boolean()
      .default(false)
      .describe('whether an account is created when the application signs in an unknown email address'),
  });
});

/** Pages of an application of the operator, and the secrets it signs requests with. */
export type ExternalUiOptions = InputOf<typeof externalUiSchema>;

export const externalUiOptions = {
  externalUi: option(externalUiSchema, {
    section: 'Pages',
    description: 'your own application that replaces the sign-in or consent pages',
  }),
};

/** @returns `null`: this server shows every page itself */
export function validateExternalUi(
  options: OutputOf<typeof externalUiSchema> | undefined,
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
