/** Reads what an identity provider publishes: its discovery document, and its keys. */
import { explainConnectionError } from '@portcullis/http';
import { createOutboundFetch } from '@portcullis/http/outbound';
import { isLoopbackHost } from '@portcullis/protocol';
import * as z from 'zod';
import type { Administration } from './administration.ts';
import { OperationError } from './errors.ts';

/** Milliseconds, and bytes of a document. */
const [TIMEOUT, MAX_BYTES] = [8_000, 262_144];

/** What signing in needs. @see OpenID Connect Discovery 1.0 §3 */
const documentSchema = z.object({
  issuer: z.string(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  jwks_uri: z.url(),
  scopes_supported: z.array(z.string()).default([]),
  code_challenge_methods_supported: z.array(z.string()).default([]),
});

/** @see RFC 7517 §5 */
const keySetSchema = z.object({ keys: z.array(z.object({ kty: z.string(), use: z.string().optional() })) });

/** The discovery document of an identity provider, and how many keys it has. */
export interface PublishedProvider extends z.output<typeof documentSchema> {
  /** Keys that can verify its signatures. */
  readonly keys: number;
}

type ReadDocument = (url: string) => Promise<unknown>;

/**
 * Through the SSRF guard. @param privateOrigins origins that may be in a private network
 * @throws OperationError for each request that fails
 */
export function createReadDocument(
  { outbound: { proxy, noProxy = [], fetch: given } }: Pick<Administration, 'outbound'>,
  { loopback, privateOrigins }: { readonly loopback: boolean; readonly privateOrigins: readonly string[] },
): ReadDocument {
  const fetch =
    given ??
    createOutboundFetch({
      ...{ timeout: TIMEOUT, maxBytes: MAX_BYTES },
      ...{ allowLoopback: loopback, allowedPrivateOrigins: privateOrigins },
      ...(proxy !== undefined && { proxy: { url: proxy, bypass: noProxy, mayResolve: () => true } }),
    });
  return async (url) => {
    try {
      const response = await fetch(url, { headers: { accept: 'application/json' }, redirect: 'error' });
      if (!response.ok)
        throw new OperationError('conflict', `${url} responds with status ${response.status}.`);
      return await response.json();
    } catch (error) {
      if (error instanceof OperationError) throw error;
      const reason =
        explainConnectionError(error) ?? (error instanceof Error ? error.message : String(error));
      throw new OperationError('conflict', `${url} cannot be read: ${reason}`, { cause: error });
    }
  };
}

/** @throws OperationError that says what is wrong with it */
export async function readPublishedProvider(
  read: ReadDocument,
  issuer: string,
): Promise<Omit<PublishedProvider, 'keys'>> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const { data, success } = documentSchema.safeParse(await read(url));
  if (!success) throw new OperationError('invalid', `${url} is no discovery document of an OpenID provider.`);
  // The issuer value returned MUST be identical to the issuer URL. OpenID Connect Discovery 1.0 §4.3
  if (data.issuer !== issuer)
    throw new OperationError('invalid', `The provider calls itself ${data.issuer}: enter exactly that.`);
  return data;
}

/** @returns how many can verify signatures @throws OperationError also if there is none */
export async function countProviderKeys(
  read: ReadDocument,
  { jwks_uri: url }: Pick<PublishedProvider, 'jwks_uri'>,
): Promise<number> {
  const { data } = keySetSchema.safeParse(await read(url));
  const keys = data?.keys.filter(({ use }) => use !== 'enc').length ?? 0;
  if (keys === 0) throw new OperationError('invalid', `${url} has no key that verifies signatures.`);
  return keys;
}

/** Tries an identity provider that is not configured yet. @param given the issuer identifier @throws OperationError that says what is wrong with it */
export async function tryProvider(
  admin: Pick<Administration, 'issuer' | 'outbound'>,
  given: string,
): Promise<PublishedProvider> {
  const url = URL.parse(given);
  if (url === null || !['https:', 'http:'].includes(url.protocol) || url.search !== '' || url.hash !== '')
    throw new OperationError('invalid', 'Enter the issuer as an https URL, such as https://idp.example.com.');
  const loopback = isLoopbackHost(new URL(admin.issuer).hostname);
  const read = createReadDocument(admin, { loopback, privateOrigins: [] });
  const published = await readPublishedProvider(read, given);
  return { ...published, keys: await countProviderKeys(read, published) };
}
