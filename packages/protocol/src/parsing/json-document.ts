/** Parses JSON documents from untrusted sources by a schema: a typed value, or all issues at once. */
import * as z from 'zod';
import { readSecureUrl, readWebUrl } from './web-url.ts';

/** The parsed document, or all issues. */
export type ParseResult<T> = { readonly document: T } | { readonly issues: readonly string[] };

/** The maximum number of issues that are reported. */
const MOST_ISSUES = 20;

/** Parses a JSON object by a schema. Unknown members are ignored, members that are `null` count as absent. */
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

/** An https URL, or http on a loopback host; kept as written. */
export const secureUrlSchema: z.ZodType<string> = z
  .string()
  .refine(
    (text) => readSecureUrl(text) !== null,
    'must be an absolute https URL (http for loopback hosts only)',
  );

/** An endpoint of an authorization server: a secure URL that MUST NOT include a fragment. @see RFC 6749 §3.1 */
export const endpointUrlSchema: z.ZodType<string> = secureUrlSchema.refine(
  (text) => !text.includes('#'),
  'must have no fragment',
);

/** An https or http URL of a page for users; kept as written. */
export const webPageSchema: z.ZodType<string> = z
  .string()
  .max(2000)
  .refine((text) => readWebUrl(text) !== null, 'must be an absolute http or https URL');

/** Text that is shown to users on one line: no control characters, line breaks or bidirectional overrides. */
export const singleLineTextSchema: z.ZodString = z
  .string()
  .regex(
    /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]*$/u,
    'must not contain control characters',
  );

export const stringArraySchema: z.ZodType<readonly string[]> = z.array(z.string());
