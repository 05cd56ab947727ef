/** Reading JSON documents that somebody else wrote: a value that holds to its shape, or every fault at once. */
import * as z from 'zod';
import { isSecureUrl, readWebUrl } from './web-url.ts';

/** What reading a document gives: the document, or all that is wrong with it. */
export type ParseResult<T> = { readonly document: T } | { readonly issues: readonly string[] };

/** Faults that are worth telling at once. */
const MOST_ISSUES = 20;

/** Reads a JSON object by a schema. Unknown members are ignored, members that are `null` count as absent. */
export function readDocument<T>(schema: z.ZodType<T>, json: unknown): ParseResult<T> {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    return { issues: ['the document must be a JSON object'] };
  }
  const result = schema.safeParse(withoutNulls(json));
  if (result.success) return { document: result.data };
  return {
    issues: result.error.issues
      .slice(0, MOST_ISSUES)
      .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`)),
  };
}

function withoutNulls(json: object): object {
  if (!Object.values(json).includes(null)) return json;
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null));
}

/** An https URL, or http to this computer; kept as written. */
export const secureUrlSchema: z.ZodType<string> = z.string().refine((text) => {
  const url = readWebUrl(text);
  return url !== null && isSecureUrl(url);
}, 'must be an absolute https URL (http for loopback hosts only)');

/** An endpoint of an authorization server: as `secureUrl`, and MUST NOT include a fragment. @see OAuth 2.1 draft 13 §3.1 */
export const endpointUrlSchema: z.ZodType<string> = secureUrlSchema.refine(
  (text) => !text.includes('#'),
  'must have no fragment',
);

/** An https or http URL for a person to follow; kept as written. */
export const webPageSchema: z.ZodType<string> = z
  .string()
  .max(2000)
  .refine((text) => readWebUrl(text) !== null, 'must be an absolute http or https URL');

/**
 * Text that is shown to a person: nothing in it steers the terminal or the page, breaks the line or turns the direction
 * of reading.
 */
export const singleLineTextSchema: z.ZodString = z
  .string()
  .regex(
    /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]*$/u,
    'must hold no control characters',
  );

export const stringArraySchema: z.ZodType<string[]> = z.array(z.string());
