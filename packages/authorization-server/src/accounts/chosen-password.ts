/** A password that somebody chooses, typed twice. */
import type { Parameters } from '@portcullis/protocol';
import { passwordFault } from './password-rules.ts';

/** What is wrong with each field, in words. */
export interface PasswordFaults {
  readonly password: string | null;
  readonly passwordAgain: string | null;
}

/** `null` when it may be chosen. */
export function judgePassword(form: Parameters, emailKey: string): PasswordFaults | null {
  const password = form.one('password') ?? '';
  const fault = passwordFault(password, emailKey);
  if (fault !== null) return { password: `The password ${fault}.`, passwordAgain: null };
  if (form.one('password_again') === password) return null;
  return { password: null, passwordAgain: 'The two passwords differ.' };
}
