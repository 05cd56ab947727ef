/** A password that somebody chooses, typed twice. */
import type { Parameters } from '@portcullis/protocol';
import type { TextName } from '../ui/texts/texts.ts';
import { findPasswordIssue } from './password-rules.ts';

/** What is wrong with each field: the names of texts. */
export interface PasswordErrors {
  readonly password: TextName | null;
  readonly passwordAgain: TextName | null;
}

/** `null` when it may be chosen. */
export function validateNewPassword(form: Parameters, emailKey: string): PasswordErrors | null {
  const password = form.one('password') ?? '';
  const issue = findPasswordIssue(password, emailKey);
  if (issue !== null) return { password: `password.wrong.${issue}`, passwordAgain: null };
  if (form.one('password_again') === password) return null;
  return { password: null, passwordAgain: 'password.wrong.again' };
}
