/** Clients that a document describes: found in its last good copy, or at its host, and never twice at once. */

import { hash } from 'node:crypto';
import { OAuthError } from '@portcullis/protocol';
import type { ServerContext } from '../../context.ts';
import { createSingleFlight } from '../../single-flight.ts';
import type { ClientMetadataDocumentRecord } from '../../store/index.ts';
import type { ResolvedClient } from '../client.ts';
import { readClientDocument } from './document-rules.ts';
import { type DocumentTrustPolicy, validateDocumentUrl } from './document-url.ts';
import { type FetchJson, FetchJsonError, type FetchJsonResult } from './fetch-json.ts';
import { type FreshnessPolicy, freshnessLifetime } from './http-cache-freshness.ts';

/** Bytes. A document SHOULD NOT be larger. @see draft-ietf-oauth-client-id-metadata-document §6.6 */
const LARGEST = 5 * 1024;

/** A day at most, so that a client is heard that takes something back; five minutes when its host says nothing. */
const FRESHNESS: FreshnessPolicy = { maxAge: 86_400, defaultAge: 300 };

/** For so long a good copy stands in for a host that answers badly. Seconds. */
const LAST_GOOD_FOR = 7 * 86_400;

/** For so long a copy is kept of a client that nobody has allowed anything yet. Seconds. */
const UNUSED_KEPT = 3600;

/** @throws OAuthError `invalid_client`, `temporarily_unavailable` when too much is asked for at once */
export type ResolveDocumentClient = (
  id: string,
  moment: 'start' | 'resume',
  network: string | null,
) => Promise<ResolvedClient>;

/** @param trust whose documents are read */
export function createResolveDocumentClient(
  {
    store,
    clock,
    events,
    options: { redirects },
  }: Pick<ServerContext, 'store' | 'clock' | 'events' | 'options'>,
  trust: DocumentTrustPolicy,
  fetchJson: FetchJson,
): ResolveDocumentClient {
  const singleFlight = createSingleFlight<ClientMetadataDocumentRecord>();

  return async (id, moment, network) => {
    const judged = validateDocumentUrl(id, trust);
    if ('issue' in judged) throw new OAuthError('invalid_client', judged.issue);
    const copy = await store.findClientMetadataDocument(id);
    const isEnough = copy !== null && (moment === 'resume' || clock() < copy.freshUntil);
    return describe(isEnough ? copy : await singleFlight.run(id, () => renew(id, copy, network)));
  };

  /** Asks the host. Errors and documents that cannot be used are never kept; a good copy outlives them for a while. */
  async function renew(
    url: string,
    copy: ClientMetadataDocumentRecord | null,
    network: string | null,
  ): Promise<ClientMetadataDocumentRecord> {
    try {
      const answer = await fetchJson({ url, limit: LARGEST, network, validators: copy });
      const renewed = readAnswer(url, copy, answer);
      await store.saveClientMetadataDocument(renewed);
      if (copy !== null && copy.digest !== renewed.digest) events({ type: 'client.changed', clientId: url });
      return renewed;
    } catch (error) {
      const refusal = explain(error);
      const reason = refusal.reason ?? refusal.description;
      const standsIn = copy !== null && mayStandIn(copy, error);
      // Nobody was asked, so nothing is known of the document: a stranger could have that told without end.
      const isAsked = !(error instanceof FetchJsonError && error.issue === 'budget');
      if (isAsked)
        events({ type: 'client_metadata_document.rejected', clientId: url, reason, lastGoodCopy: standsIn });
      if (standsIn) return copy;
      throw refusal;
    }
  }

  /** A host that says that the document is gone has taken it back; everything else may be an accident. */
  function mayStandIn(copy: ClientMetadataDocumentRecord, error: unknown): boolean {
    const isGone = error instanceof FetchJsonError && error.issue === 'gone';
    const isOurs = error instanceof FetchJsonError || error instanceof OAuthError;
    return isOurs && !isGone && clock() < copy.fetchedAt + LAST_GOOD_FOR;
  }

  function readAnswer(
    url: string,
    copy: ClientMetadataDocumentRecord | null,
    answer: FetchJsonResult,
  ): ClientMetadataDocumentRecord {
    const now = clock();
    const times = {
      fetchedAt: now,
      freshUntil: now + freshnessLifetime(answer.headers, FRESHNESS, now),
      lastUsedAt: copy?.lastUsedAt ?? null,
      expiresAt: now + UNUSED_KEPT,
    };
    if (answer.kind === 'unchanged' && copy !== null) return { ...copy, ...times };
    const json = answer.kind === 'found' ? answer.json : null;
    const metadata = readClientDocument(url, json, { redirects, loopback: trust.loopback });
    const digest = hash('sha256', JSON.stringify(metadata), 'base64url');
    const etag = readValidator(answer.headers.get('etag'));
    const lastModified = readValidator(answer.headers.get('last-modified'));
    return { url, metadata, digest, etag, lastModified, ...times };
  }
}

function describe({ url, metadata, digest, lastUsedAt }: ClientMetadataDocumentRecord): ResolvedClient {
  return { id: url, origin: 'metadata-document', metadata, secretHash: null, digest, lastUsedAt };
}

/** Validators are sent back one day: short ones of plain characters only. */
function readValidator(text: string | null): string | null {
  return text !== null && /^[\x20-\x7e]{1,200}$/.test(text) ? text : null;
}

function explain(error: unknown): OAuthError {
  if (!(error instanceof FetchJsonError)) {
    if (error instanceof OAuthError) return error;
    throw error;
  }
  if (error.issue === 'budget') {
    return new OAuthError(
      'temporarily_unavailable',
      'Too many client documents are asked for at this moment. Try again shortly.',
      { reason: error.reason, retryAfter: error.retryAfter },
    );
  }
  return new OAuthError('invalid_client', `The document at the client_id cannot be used: ${error.message}.`, {
    reason: `client document: ${error.reason}`,
  });
}
