/** What every answer says to browsers, whatever it is. */
import type { Answer } from './answer.ts';

/** Half a year, in seconds. */
const HSTS = `max-age=${15_768_000}`;

/** What every answer says to browsers: to take the type as it is told, to tell nobody where they were. */
export const HARDENED: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};
/** And to come by https only. @see RFC 6797 §7.1 */
export const HARDENED_OF_HTTPS: Readonly<Record<string, string>> = {
  ...HARDENED,
  'strict-transport-security': HSTS,
};

/**
 * An answer that says what every answer says to browsers. What it says itself stands.
 * @param isHttps whether the public address is https
 */
export function harden(answer: Answer, isHttps: boolean): Answer {
  const { headers } = answer;
  const isHardened =
    headers['x-content-type-options'] !== undefined &&
    headers['referrer-policy'] !== undefined &&
    (!isHttps || headers['strict-transport-security'] !== undefined);
  if (isHardened) return answer;
  return { ...answer, headers: { ...(isHttps ? HARDENED_OF_HTTPS : HARDENED), ...headers } };
}

/** The same for the response of an application. */
export function hardenResponse(response: Response, isHttps: boolean): Response {
  const hardened = Object.entries(isHttps ? HARDENED_OF_HTTPS : HARDENED);
  const missing = hardened.filter(([name]) => !response.headers.has(name));
  for (const [name, value] of missing) response.headers.set(name, value);
  return response;
}
