/** Password rules: long enough, not commonly guessed, no composition rules (NIST SP 800-63B). */

/** Characters. A shorter password could be guessed despite login throttling. */
export const MIN_PASSWORD_LENGTH = 10;
/** Characters. Enough for any sentence; bounds the work of one hash. */
export const MAX_PASSWORD_LENGTH = 200;
/** UTF-16 units: more than any allowed password has, however it is composed. */
const MAX_TEXT_LENGTH = 4096;

/** Commonly guessed passwords of allowed length, in lower case. */
const COMMON_PASSWORDS: ReadonlySet<string> = new Set([
  '0123456789', '1234567890', '12345678910', '123456789a', '1234567891', '123123123123', '1q2w3e4r5t', '1q2w3e4r5t6y',
  '1qaz2wsx3edc', '9876543210', '0987654321', 'abc123456789', 'abcd123456', 'abcdefghij', 'admin12345', 'admin123456',
  'administrator', 'asdfghjkl1', 'asdfghjkl;', 'changeme123', 'changemenow', 'correcthorsebatterystaple', 'football123',
  'iloveyou123', 'letmein123', 'mypassword', 'p@ssw0rd123', 'passw0rd123', 'password01', 'password10', 'password11',
  'password12', 'password123', 'password123!', 'password1234', 'password12345', 'password2024', 'password2025',
  'password2026', 'passwordpassword', 'portcullis', 'q1w2e3r4t5', 'q1w2e3r4t5y6', 'qwerty1234', 'qwerty12345',
  'qwerty123456', 'qwertyuiop', 'qwertyuiop123', 'secret12345', 'sunshine123', 'superman123', 'testtest123',
  'welcome123', 'welcome1234', 'welcome2024', 'welcome2025', 'welcome2026', 'zaq12wsxcde3',
]); // biome-ignore format: one list

/**
 * Normalizes a password before it is counted and hashed, so that every keyboard yields the same. Text too long for a password
 * is not normalized, because that takes quadratic time.
 * @see NIST SP 800-63B §3.1.1.2
 */
export function normalizePassword(text: string): string {
  return text.length > MAX_TEXT_LENGTH ? text : text.normalize('NFKC');
}

export type PasswordIssue = 'short' | 'long' | 'address' | 'guessable';

/**
 * @param emailKey the account's address, which is no secret
 * @returns why a password may not be chosen, or `null`
 * @see NIST SP 800-63B §3.1.1.2
 */
export function findPasswordIssue(text: string, emailKey: string): PasswordIssue | null {
  const password = normalizePassword(text);
  const length = [...password].length;
  if (length < MIN_PASSWORD_LENGTH) return 'short';
  if (length > MAX_PASSWORD_LENGTH) return 'long';
  const lower = password.toLowerCase();
  if (lower === emailKey || lower === emailKey.split('@')[0]) return 'address';
  if (COMMON_PASSWORDS.has(lower) || /^(.)\1*$/su.test(lower)) return 'guessable';
  return null;
}
