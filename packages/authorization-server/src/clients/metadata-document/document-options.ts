/** Options of client ID metadata documents: the hosts whose documents are accepted. */
import type * as z from 'zod';
import { booleanOr, lazy, list, type OptionReport, object, optional, text } from '../../option-schema.ts';
import { type DocumentTrustPolicy, isHostPattern } from './document-url.ts';

/** Hosts whose client metadata documents are accepted. @see draft-ietf-oauth-client-id-metadata-document */
export interface DocumentOptions {
  /** Only these hosts: `app.example`, or `*.app.example` for all subdomains. Any host by default. */
  readonly hosts?: readonly string[];
  /** Never these. */
  readonly refusedHosts?: readonly string[];
}

export const documentsSchema: () => z.ZodType<boolean | DocumentOptions> = lazy(() => {
  const hosts = () => list(text('a host such as `app.example` or `*.app.example`'));
  return booleanOr(
    object<DocumentOptions>({
      hosts: optional(hosts(), 'only documents on these hosts', { defaultText: 'any host' }),
      refusedHosts: optional(hosts(), 'no documents on these hosts'),
    }),
  );
});

/** @returns `null`: no document is accepted */
export function validateDocuments(
  options: boolean | DocumentOptions,
  loopback: boolean,
  report: OptionReport,
): DocumentTrustPolicy | null {
  if (options === false) return null;
  const { hosts = null, refusedHosts = [] } = options === true ? {} : options;
  for (const [name, patterns] of Object.entries({ hosts: hosts ?? [], refusedHosts })) {
    if (report.isUnread('metadataDocuments', name)) continue;
    for (const pattern of patterns.filter((one) => !isHostPattern(one))) {
      report.add(
        ['metadataDocuments', name],
        `invalid host ${JSON.stringify(pattern)}; expected app.example or *.app.example`,
      );
    }
  }
  return Object.freeze<DocumentTrustPolicy>({ hosts, refusedHosts, loopback });
}
