/** Finds the keys of issuers of assertions and logout tokens: by OpenID Connect or OAuth discovery, by the SSRF-guarded fetch, cached by this process. */
import { isSecureUrl, OAuthError, readWebUrl, serverMetadataUrls } from '@portcullis/protocol';
import { createCachedDocument } from '../cached-document.ts';
import { type ClientKeys, createClientKeys, type FoundKeys } from '../clients/client-keys.ts';
import { createFetchJson, type FetchJson } from '../clients/metadata-document/fetch-json.ts';
import { FetchJsonError, type RemoteIssue } from '../clients/metadata-document/fetch-json-error.ts';
import { createNamedFetch } from '../clients/metadata-document/outbound-settings.ts';
import type { ClientPolicyOptions } from '../clients/options.ts';
import type { ServerContext } from '../context.ts';
import { createLimitRegistry } from '../rate-limit/limit-registry.ts';

/** Seconds after its fetch for which a URL is used while discovery fails, so that a withdrawn one stops working. */
const LAST_GOOD_FOR = 86_400;
/** Bytes of a discovery document and of a key set. */
const LARGEST = 65_536;

/** @throws OAuthError `temporarily_unavailable` when they cannot be fetched */
export type FindIssuerKeys = (
  issuer: {
    readonly issuer: string;
    readonly jwksUri?: string | undefined;
    /** Whether `jwksUri` is of a document of the issuer: then its host has to be a public one, or that of the issuer. */
    readonly isDiscovered?: boolean;
  },
  wanted: 'any' | 'newest',
) => Promise<FoundKeys>;

/** The operator named the issuers, so that their hosts may be in a private network, and on loopback for trials. */
export function createIssuerKeys({
  clock,
  options: { outbound },
}: Pick<ServerContext<Pick<ClientPolicyOptions, 'outbound'>>, 'clock' | 'options'>): FindIssuerKeys {
  const services = new Map<string, { readonly findUrl: () => Promise<string>; readonly keys: ClientKeys }>();

  return async ({ issuer, jwksUri, isDiscovered = false }, wanted) => {
    const { findUrl, keys } = serviceOf(issuer, isDiscovered ? undefined : jwksUri);
    const url = jwksUri ?? (await findUrl().catch((error: unknown) => rejectUnavailable(issuer, error)));
    return keys.find({ jwks_uri: url }, wanted, null);
  };

  function serviceOf(issuer: string, jwksUri: string | undefined) {
    const id = JSON.stringify([issuer, jwksUri]);
    const known = services.get(id);
    if (known !== undefined) return known;
    const named = [issuer, ...(jwksUri === undefined ? [] : [jwksUri])].map((text) => new URL(text));
    const fetch = createNamedFetch(named, { ...outbound, maxBytes: LARGEST });
    // The issuer is configured: what it costs to ask it need not be remembered.
    const limits = createLimitRegistry();
    const fetchJson = createFetchJson('keys', { fetch, timeout: outbound.timeout, clock, limits });
    const findUrl = createCachedDocument(() => discover(issuer, fetchJson), {
      clock,
      timeout: outbound.timeout,
      mayUseLast: (error, age) =>
        !(error instanceof FetchJsonError && error.issue === 'gone') && age < LAST_GOOD_FOR,
    });
    const service = { findUrl, keys: createClientKeys(fetchJson, clock, outbound.timeout) };
    services.set(id, service);
    return service;
  }
}

function rejectUnavailable(issuer: string, error: unknown): never {
  if (!(error instanceof FetchJsonError)) throw error;
  throw new OAuthError('temporarily_unavailable', 'The keys of the issuer are unavailable.', {
    reason: `assertion issuer ${issuer}: ${error.reason}`,
    retryAfter: error.retryAfter,
  });
}

/** Failures that say more than that a document is missing, the last one most: most issuers have one of the documents. */
const DECISIVE: readonly RemoteIssue[] = ['gone', 'outage'];

/** The `issuer` of the document MUST be identical to the configured one. @see OpenID Connect Discovery 1.0 §4.3, RFC 8414 §3.3 */
async function discover(issuer: string, fetchJson: FetchJson): Promise<string> {
  let failure: FetchJsonError | null = null;
  for (const url of serverMetadataUrls(issuer, ['oauth', 'oidc'])) {
    try {
      const result = await fetchJson({ url, limit: LARGEST, site: null, isRenewal: false });
      return readKeySetUrl(issuer, result.kind === 'found' ? result.json : null);
    } catch (error) {
      if (!(error instanceof FetchJsonError)) throw error;
      if (failure === null || rank(error) >= rank(failure)) failure = error;
    }
  }
  throw failure;
}

function rank({ issue }: FetchJsonError): number {
  return DECISIVE.indexOf(issue);
}

function readKeySetUrl(issuer: string, json: unknown): string {
  const document = (json ?? {}) as { readonly issuer?: unknown; readonly jwks_uri?: unknown };
  if (document.issuer !== issuer)
    throw new FetchJsonError('unusable', 'its discovery document names another issuer');
  const { jwks_uri: url } = document;
  const parsed = typeof url === 'string' ? readWebUrl(url) : null;
  if (parsed === null || !isSecureUrl(parsed)) {
    throw new FetchJsonError('unusable', 'its discovery document names no https jwks_uri');
  }
  return String(url);
}
