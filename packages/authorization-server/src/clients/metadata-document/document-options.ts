/** What an operator says about clients that are described by a document. */
import { type DocumentTrustPolicy, isHostPattern } from './document-url.ts';

/** Whose documents are read. @see draft-ietf-oauth-client-id-metadata-document */
export interface DocumentOptions {
  /** Only documents on these hosts: `app.example`, or `*.app.example` for all below it. Any host when left out. */
  readonly hosts?: readonly string[];
  /** Never documents on these. */
  readonly refusedHosts?: readonly string[];
}

/** @returns `null` when no document is read */
export function judgeDocuments(
  options: boolean | DocumentOptions,
  loopback: boolean,
  issues: string[],
): DocumentTrustPolicy | null {
  if (options === false) return null;
  const { hosts = null, refusedHosts = [] } = options === true ? {} : options;
  for (const [name, patterns] of Object.entries({ hosts: hosts ?? [], refusedHosts })) {
    for (const pattern of patterns) {
      if (isHostPattern(pattern)) continue;
      issues.push(
        `metadataDocuments.${name}: ${JSON.stringify(pattern)} is no host such as app.example or *.app.example`,
      );
    }
  }
  return Object.freeze<DocumentTrustPolicy>({ hosts, refusedHosts, loopback });
}
