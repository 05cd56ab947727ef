/** Reading JSON documents that somebody else wrote: a value that holds to its shape, or every fault at once. */
import * as z from 'zod';
import { isSecureUrl, readWebUrl } from './web-url.ts';

/** What reading a document gives: the document, or all that is wrong with it. */
export type Reading<T> = { readonly document: T } | { readonly faults: readonly string[] };

/**
 * Reads a JSON object by a schema. Unknown members are ignored, members that are `null` count as absent.
 */
export function readDocument<T>(schema: z.ZodType<T>, json: unknown): Reading<T> {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    return { faults: ['the document must be a JSON object'] };
  }
  const present = Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null));
  const result = schema.safeParse(present);
  if (result.success) return { document: result.data };
  return {
    faults: result.error.issues.map((issue) =>
      issue.path.length === 0 ? issue.message : `${issue.path.join('.')}: ${issue.message}`,
    ),
  };
}

/** An https URL, or http to this computer; kept as written. */
export const secureUrl: z.ZodType<string> = z.string().refine((text) => {
  const url = readWebUrl(text);
  return url !== null && isSecureUrl(url);
}, 'must be an absolute https URL (http for loopback hosts only)');

/** An https or http URL for a person to follow; kept as written. */
export const webPage: z.ZodType<string> = z
  .string()
  .max(2000)
  .refine((text) => readWebUrl(text) !== null, 'must be an absolute http or https URL');

export const strings: z.ZodType<string[]> = z.array(z.string());
