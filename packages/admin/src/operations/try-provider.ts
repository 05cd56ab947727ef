/** Tries an identity provider that is not configured yet: reads its discovery document and keys, through the SSRF guard. */
import { isLoopbackHost } from '@portcullis/protocol';
import type { Administration } from './administration.ts';
import { OperationError } from './errors.ts';
import {
  countProviderKeys,
  createReadDocument,
  type PublishedProvider,
  readPublishedProvider,
} from './read-provider.ts';

/** @param given the issuer identifier @throws OperationError that says what is wrong with it */
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
