/** Resolves clients by their Client ID Metadata Document: from the cached copy or by a fetch, as a single flight. */
import { hash } from 'node:crypto';
import { type ClientMetadata, createLruCache, OAuthError } from '@portcullis/protocol';
import { RejectedClientRequest } from '../../http/rejected-client-request.ts';
import { createSingleFlight } from '../../single-flight.ts';
import type { ClientMetadataDocumentRecord } from '../../store/index.ts';
import { type ResolvedClient, UNREGISTERED } from '../client.ts';
import type { ClientsContext } from '../options.ts';
import { readClientDocument } from './document-rules.ts';
import { validateDocumentUrl } from './document-url.ts';
import type { FetchJson, FetchJsonResult } from './fetch-json.ts';
import { FetchJsonError } from './fetch-json-error.ts';
import { type FreshnessPolicy, freshnessLifetime } from './http-cache-freshness.ts';
import { isFresh, mayUseLastGoodCopy } from './last-good-copy.ts';
import type { DocumentPolicy } from './options.ts';

/** Bytes. A document SHOULD NOT be larger. @see draft-ietf-oauth-client-id-metadata-document §6.6 */
const LARGEST = 5 * 1024;

/** At most a day, so that a client can withdraw something; five minutes without cache headers. */
const FRESHNESS: FreshnessPolicy = { maxAge: 86_400, defaultAge: 300 };

/** Seconds after its fetch for which the last good copy is used while its host fails. */
const LAST_GOOD_FOR = 86_400;

/** Failed fetches that each process remembers. */
const REMEMBERED_FAILURES = 1000;

/** Seconds for which the document of a client without a grant is stored. */
const UNUSED_LIFETIME = 3600;

/** @throws OAuthError `invalid_client`, `temporarily_unavailable` when the fetch budget is exhausted */
export type ResolveDocumentClient = (
  id: string,
  purpose: 'start' | 'resume',
  site: string | null,
) => Promise<ResolvedClient>;

/** @param trust hosts whose documents are accepted, and pinned documents */
export function createResolveDocumentClient(
  {
    store,
    clock,
    events,
    options: { redirects, outbound },
  }: Pick<ClientsContext, 'store' | 'clock' | 'events' | 'options'>,
  trust: DocumentPolicy,
  fetchJson: FetchJson,
): ResolveDocumentClient {
  /** Documents whose last fetch by this process failed. */
  const failures = createLruCache<{ readonly at: number; readonly isWithdrawn: boolean }>({
    entries: REMEMBERED_FAILURES,
  });
  const isWithdrawn = (url: string) => failures.get(url)?.isWithdrawn === true;
  const singleFlight = createSingleFlight<ClientMetadataDocumentRecord>(outbound.timeout);
  const rules = { redirects, loopback: trust.loopback };

  return async (id, purpose, site) => {
    const pinned = trust.pinned.get(id);
    if (pinned !== undefined) return toResolvedClient(pinnedCopy(id, pinned));
    const validated = validateDocumentUrl(id, trust);
    if ('issue' in validated) throw new OAuthError('invalid_client', validated.issue);
    const copy = await store.findClientMetadataDocument(id);
    const isEnough = copy !== null && (purpose === 'resume' || isFresh(copy, clock()));
    return toResolvedClient(isEnough ? copy : await singleFlight.run(id, () => renew(id, copy, site)));
  };

  /** Fetches the document. Errors and invalid documents are not cached; the last good copy is used for a while instead. */
  async function renew(
    url: string,
    copy: ClientMetadataDocumentRecord | null,
    site: string | null,
  ): Promise<ClientMetadataDocumentRecord> {
    try {
      const result = await fetchJson({
        url,
        limit: LARGEST,
        site,
        isRenewal: copy !== null,
        validators: copy,
      });
      const renewed = readResult(url, copy, result, rules, clock());
      failures.delete(url);
      await store.saveClientMetadataDocument(renewed);
      if (copy !== null && copy.digest !== renewed.digest) {
        const isEnded = copy.verifiedAt !== null;
        events({ type: 'client.changed', clientId: url, ...(isEnded && { verificationEnded: true }) });
      }
      return renewed;
    } catch (error) {
      const rejection = toOAuthError(error, url);
      const reason = rejection.reason ?? rejection.description;
      const usesLastGoodCopy = copy !== null && isLastGoodCopyUsed(copy, error);
      // Nothing was fetched, so there is nothing to audit: anyone could cause such events without limit.
      const wasFetched = !(error instanceof FetchJsonError && error.issue === 'budget');
      if (wasFetched) {
        failures.set(url, { at: clock(), isWithdrawn: isGone(error) || isWithdrawn(url) });
        events({
          type: 'client_metadata_document.rejected',
          clientId: url,
          reason,
          lastGoodCopy: usesLastGoodCopy,
        });
      }
      if (usesLastGoodCopy) return copy;
      throw rejection;
    }
  }

  function isLastGoodCopyUsed(copy: ClientMetadataDocumentRecord, error: unknown): boolean {
    if (isWithdrawn(copy.url) || !(error instanceof FetchJsonError || error instanceof OAuthError))
      return false;
    const askedAt = Math.max(copy.fetchedAt, failures.get(copy.url)?.at ?? 0);
    const issue = error instanceof FetchJsonError ? error.issue : 'unusable';
    return mayUseLastGoodCopy({ ...copy, askedAt }, issue, LAST_GOOD_FOR, clock());
  }
}

/** The copy that a fetch results in. @throws OAuthError if the document is invalid */
function readResult(
  url: string,
  copy: ClientMetadataDocumentRecord | null,
  result: FetchJsonResult,
  rules: Parameters<typeof readClientDocument>[2],
  now: number,
): ClientMetadataDocumentRecord {
  const times = {
    fetchedAt: now,
    freshUntil: now + freshnessLifetime(result.headers, FRESHNESS, now),
    lastUsedAt: copy?.lastUsedAt ?? null,
    expiresAt: now + UNUSED_LIFETIME,
    verifiedAt: copy?.verifiedAt ?? null,
  };
  if (result.kind === 'unchanged' && copy !== null) return { ...copy, ...times };
  const metadata = readClientDocument(url, result.kind === 'found' ? result.json : null, rules);
  const digest = digestOf(metadata);
  const isSame = copy?.digest === digest;
  return {
    url,
    metadata,
    digest,
    ...readValidators(result.headers),
    ...times,
    ...(!isSame && { verifiedAt: null }),
  };
}

function isGone(error: unknown): boolean {
  return error instanceof FetchJsonError && error.issue === 'gone';
}

function digestOf(metadata: ClientMetadata): string {
  return hash('sha256', JSON.stringify(metadata), 'base64url');
}

/** A pinned document has no row in the store, so its use is recorded nowhere. */
function pinnedCopy(url: string, metadata: ClientMetadata) {
  return {
    url,
    metadata,
    digest: digestOf(metadata),
    lastUsedAt: Number.POSITIVE_INFINITY,
    verifiedAt: null,
  };
}

function toResolvedClient(
  copy: Pick<ClientMetadataDocumentRecord, 'url' | 'metadata' | 'digest' | 'lastUsedAt' | 'verifiedAt'>,
): ResolvedClient {
  const { url: id, metadata, digest, lastUsedAt } = copy;
  const isVerified = copy.verifiedAt !== null;
  return { ...UNREGISTERED, id, origin: 'metadata-document', metadata, digest, lastUsedAt, isVerified };
}
function readValidators(headers: Headers): Pick<ClientMetadataDocumentRecord, 'etag' | 'lastModified'> {
  return {
    etag: readValidator(headers.get('etag')),
    lastModified: readValidator(headers.get('last-modified')),
  };
}

/** Validators are sent in later requests: only short printable ones are stored. */
function readValidator(text: string | null): string | null {
  return text !== null && /^[\x20-\x7e]{1,200}$/.test(text) ? text : null;
}

function toOAuthError(error: unknown, url: string): OAuthError {
  if (!(error instanceof FetchJsonError)) {
    if (error instanceof OAuthError) return error;
    throw error;
  }
  if (error.issue === 'budget') {
    return new OAuthError(
      'temporarily_unavailable',
      'Too many client metadata documents are being fetched. Try again shortly.',
      { reason: error.reason, retryAfter: error.retryAfter },
    );
  }
  return toClientDocumentError(url, error);
}

/**
 * Status, content, time-out, connection and address are one error outside, or this server could be used to scan ports (SSRF). That
 * its own network is down depends on no host.
 * @param cause every issue but `budget`
 */
function toClientDocumentError(url: string, cause: FetchJsonError): RejectedClientRequest {
  const { host } = new URL(url);
  const details = { documentHost: host, reason: `client document: ${cause.reason}` };
  if (cause.issue === 'egress') {
    return new RejectedClientRequest(
      'temporarily_unavailable',
      `This server has no network connection to ${host} at present. Try again later.`,
      { ...details, retryAfter: cause.retryAfter },
    );
  }
  return new RejectedClientRequest(
    'invalid_client',
    `This server found no client metadata document at the client_id: ${host} must respond to it within seconds, with status 200, as application/json, and with the client_id as its client_id.`,
    details,
  );
}
