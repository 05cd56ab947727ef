/** The two form fields for choosing a password, and their validation. */
import type { Parameters } from '@portcullis/protocol';
import { html } from 'hono/html';
import { formField, type Layout, revealPasswords } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import type { TextName } from '../ui/texts/texts.ts';
import { findPasswordIssue, MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from './password-rules.ts';

/** Errors by field, as names of texts. */
export interface PasswordErrors {
  readonly password: TextName | null;
  readonly passwordAgain: TextName | null;
}

/** @returns `null` if the password may be chosen */
export function validateNewPassword(form: Parameters, emailKey: string): PasswordErrors | null {
  const password = form.one('password') ?? '';
  const issue = findPasswordIssue(password, emailKey);
  if (issue !== null) return { password: `password.error.${issue}`, passwordAgain: null };
  if (form.one('password_again') === password) return null;
  return { password: null, passwordAgain: 'password.error.again' };
}

interface NewPasswordFields {
  /** `null`: none. */
  readonly errors: PasswordErrors | null;
  /** Whether the first field gets the focus. */
  readonly first: boolean;
  /** Label of the first field. Default: password. */
  readonly label?: TextName;
}

export function newPasswordFields(
  layout: Layout,
  { errors, first, label = 'field.password' }: NewPasswordFields,
): Markup {
  const { password: wrong = null, passwordAgain: wrongAgain = null } = errors ?? {};
  const lengths = { least: MIN_PASSWORD_LENGTH, most: MAX_PASSWORD_LENGTH };
  const say = (name: TextName | null) => (name === null ? null : layout.text(name, lengths));
  return html`${formField({
    name: 'password',
    type: 'password',
    label: layout.text(label),
    autocomplete: 'new-password',
    hint: layout.text('password.hint', lengths),
    error: say(wrong),
    focus: first && wrongAgain === null,
  })}
${formField({
  name: 'password_again',
  type: 'password',
  label: layout.text('password.again'),
  autocomplete: 'new-password',
  error: say(wrongAgain),
  focus: wrongAgain !== null,
})}
${revealPasswords(layout)}`;
}
