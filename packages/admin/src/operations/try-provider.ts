/** Tries an identity provider that is not configured yet: reads its discovery document, through the SSRF guard. */
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

/** The discovery document of an identity provider. */
export type TriedProvider = z.output<typeof documentSchema>;

/** @param given the issuer identifier @throws OperationError that says what is wrong with it */
export async function tryProvider(
  { issuer: own, outbound }: Pick<Administration, 'issuer' | 'outbound'>,
  given: string,
): Promise<TriedProvider> {
  const url = discoveryUrlOf(given);
  const { proxy, noProxy = [] } = outbound;
  const fetch =
    outbound.fetch ??
    createOutboundFetch({
      timeout: TIMEOUT,
      maxBytes: MAX_BYTES,
      allowLoopback: isLoopbackHost(new URL(own).hostname),
      ...(proxy !== undefined && { proxy: { url: proxy, bypass: noProxy, mayResolve: () => true } }),
    });
  const document = await readDocument(fetch, url);
  const { data, success } = documentSchema.safeParse(document);
  if (!success) throw new OperationError('invalid', `${url} is no discovery document of an OpenID provider.`);
  // The issuer value returned MUST be identical to the issuer URL. OpenID Connect Discovery 1.0 §4.3
  if (data.issuer !== given)
    throw new OperationError('invalid', `The provider calls itself ${data.issuer}: enter exactly that.`);
  return data;
}

function discoveryUrlOf(given: string): string {
  const url = URL.parse(given);
  if (url === null || !['https:', 'http:'].includes(url.protocol) || url.search !== '' || url.hash !== '')
    throw new OperationError('invalid', 'Enter the issuer as an https URL, such as https://idp.example.com.');
  return `${given.replace(/\/$/, '')}/.well-known/openid-configuration`;
}

async function readDocument(fetch: typeof globalThis.fetch, url: string): Promise<unknown> {
  try {
    const response = await fetch(url, { headers: { accept: 'application/json' }, redirect: 'error' });
    if (!response.ok) throw new OperationError('conflict', `${url} responds with status ${response.status}.`);
    return await response.json();
  } catch (error) {
    if (error instanceof OperationError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperationError('conflict', `${url} cannot be read: ${reason}`, { cause: error });
  }
}
