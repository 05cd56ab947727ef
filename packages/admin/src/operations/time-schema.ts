/** Times in schemas of results: epoch seconds here, ISO 8601 for callers of the API. */
import * as z from 'zod';

export const isoTime = () =>
  z
    .number()
    .transform((seconds) => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z'))
    .pipe(z.string());

export const timeSchema = () => isoTime().describe('ISO 8601, in UTC');

/** @param about what `null` says */
export const optionalTimeSchema = (about = 'not yet, or never') =>
  isoTime().nullable().describe(`ISO 8601, in UTC; null: ${about}`);
