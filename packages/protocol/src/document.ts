/** Reading JSON documents that somebody else wrote: a value that holds to its shape, or every fault at once. */
import { atMost, isObject, list, must, type Shape, type ShapeFault, text } from './shape.ts';
import { isSecureUrl, readWebUrl } from './web-url.ts';

/** What reading a document gives: the document, or all that is wrong with it. */
export type Reading<T> = { readonly document: T } | { readonly faults: readonly string[] };

/** Faults that are worth telling at once. */
const MOST_FAULTS = 20;

/** Reads a JSON object by its shape. Unknown members are ignored, members that are `null` count as absent. */
export function readDocument<T>(shape: Shape<T>, json: unknown): Reading<T> {
  if (!isObject(json)) return { faults: ['the document must be a JSON object'] };
  const faults: ShapeFault[] = [];
  const document = shape(withoutNulls(json), faults);
  return faults.length === 0 ? { document } : { faults: faults.slice(0, MOST_FAULTS).map(sentenceOf) };
}

function sentenceOf({ path, reason }: ShapeFault): string {
  return path.length === 0 ? reason : `${path.join('.')}: ${reason}`;
}

function withoutNulls(json: object): object {
  if (!Object.values(json).includes(null)) return json;
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null));
}

const isSecure = must<string>((value) => {
  const url = readWebUrl(value);
  return url !== null && isSecureUrl(url);
}, 'be an absolute https URL (http for loopback hosts only)');

const hasNoFragment = must<string>((value) => !value.includes('#'), 'have no fragment');

/** An https URL, or http to this computer; kept as written. */
export const secureUrl: Shape<string> = text(isSecure);

/** An endpoint of an authorization server: as `secureUrl`, and MUST NOT include a fragment. @see OAuth 2.1 draft 13 §3.1 */
export const endpointUrl: Shape<string> = text(isSecure, hasNoFragment);

/** An https or http URL for a person to follow; kept as written. */
export const webPage: Shape<string> = text(
  atMost(2000),
  must((value) => readWebUrl(value) !== null, 'be an absolute http or https URL'),
);

/** Nothing steers the terminal or the page, breaks the line or turns the direction of reading. */
const isHarmless = must<string>(
  (value) => /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]*$/u.test(value),
  'hold no control characters',
);

/** Text that is shown to a person, of at most so many characters. */
export function personText(most: number): Shape<string> {
  return text(isHarmless, atMost(most));
}

export const strings: Shape<readonly string[]> = list(text());
