/** Options of client ID metadata documents: the hosts whose documents are accepted. */
import { type ClientMetadata, OAuthError, type RedirectPolicy } from '@portcullis/protocol';
import * as z from 'zod';
import { lazy, list, type OutputOf, optional, optionMeta, record, text } from '../../option-schema/fields.ts';
import type { OptionReport } from '../../option-schema/reader.ts';
import { readClientDocument } from './document-rules.ts';
import { type DocumentTrustPolicy, isHostPattern, validateDocumentUrl } from './document-url.ts';

/** Validated options. */
export interface DocumentPolicy extends DocumentTrustPolicy {
  /** Metadata of pinned documents, by URL. */
  readonly pinned: ReadonlyMap<string, ClientMetadata>;
}

/** Hosts whose client metadata documents are accepted. @see draft-ietf-oauth-client-id-metadata-document */
export const documentSchema = lazy(() => {
  const hosts = () => list(text('a host such as `app.example` or `*.app.example`'));
  return z.strictObject({
    hosts: optional(hosts(), 'only documents on these hosts', 'any host'),
    refusedHosts: optional(hosts(), 'no documents on these hosts'),
    pinned: optional(
      list(
        record(
          z.custom<unknown>(() => true).register(optionMeta, { kind: 'a JSON value' }),
          'a client metadata document',
        ),
      ),
      'documents that are used as they are and never fetched, for servers that cannot reach their hosts',
    ),
  });
});

/** Hosts whose client metadata documents are accepted. */
export type DocumentOptions = OutputOf<typeof documentSchema>;

/** The members of a client metadata document; `client_id` is its URL. */
type PinnedDocument = NonNullable<DocumentOptions['pinned']>[number];

/** @returns `null`: no document is accepted */
export function validateDocuments(
  options: boolean | DocumentOptions,
  rules: { readonly redirects: RedirectPolicy; readonly loopback: boolean },
  report: OptionReport,
): DocumentPolicy | null {
  if (options === false) return null;
  const { hosts = null, refusedHosts = [], pinned = [] } = options === true ? {} : options;
  for (const [name, patterns] of Object.entries({ hosts: hosts ?? [], refusedHosts })) {
    if (report.isUnread('metadataDocuments', name)) continue;
    for (const pattern of patterns.filter((one) => !isHostPattern(one))) {
      report.add(
        ['metadataDocuments', name],
        `invalid host ${JSON.stringify(pattern)}; expected app.example or *.app.example, in lower case`,
      );
    }
  }
  const { loopback } = rules;
  return Object.freeze<DocumentPolicy>({
    hosts,
    refusedHosts,
    loopback,
    pinned: validatePinned(pinned, rules, report),
  });
}

function validatePinned(
  documents: readonly PinnedDocument[],
  rules: { readonly redirects: RedirectPolicy; readonly loopback: boolean },
  report: OptionReport,
): DocumentPolicy['pinned'] {
  const pinned = new Map<string, ClientMetadata>();
  for (const [index, document] of documents.entries()) {
    if (document === undefined) continue;
    const { client_id: clientId } = document;
    // An array of one URL would pass for it as text.
    const url = typeof clientId === 'string' ? clientId : '';
    try {
      const validated = validateDocumentUrl(url, { hosts: null, refusedHosts: [], loopback: rules.loopback });
      if ('issue' in validated) throw new OAuthError('invalid_client', validated.issue);
      if (pinned.has(url))
        throw new OAuthError('invalid_client', `Another document has the client_id ${url}.`);
      pinned.set(url, readClientDocument(url, document, rules));
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      report.add(['metadataDocuments', 'pinned', String(index)], error.description);
    }
  }
  return pinned;
}
