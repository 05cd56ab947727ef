/** A password that somebody chooses, typed twice. */
import type { Parameters } from '@portcullis/protocol';
import { passwordIssue } from '../accounts/password-rules.ts';
import type { TextName } from './texts/texts.ts';

/** What is wrong with each field: the names of texts. */
export interface PasswordIssues {
  readonly password: TextName | null;
  readonly passwordAgain: TextName | null;
}

/** `null` when it may be chosen. */
export function judgePassword(form: Parameters, emailKey: string): PasswordIssues | null {
  const password = form.one('password') ?? '';
  const issue = passwordIssue(password, emailKey);
  if (issue !== null) return { password: `password.wrong.${issue}`, passwordAgain: null };
  if (form.one('password_again') === password) return null;
  return { password: null, passwordAgain: 'password.wrong.again' };
}
