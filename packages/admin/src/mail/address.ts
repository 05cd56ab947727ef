/** Addresses that mail is sent to: no quoted local part, list, group, route or comment. */

const ADDRESS = /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~.-]{1,64}@[a-z\d](?:[a-z\d.-]*[a-z\d])?$/iu;

/** @see RFC 5321 §4.1.2, RFC 6531 §3.3: `Dot-string` with letters of any script */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && ADDRESS.test(text);
}
