/** Finds the client of an authorization request: configured, registered, or named by its metadata document. */
import type { ConnectionInfo } from '@portcullis/http';
import { OAuthError, type Parameters } from '@portcullis/protocol';
import type { ResolvedClient } from '../clients/client.ts';
import type { PageContext } from '../page-context.ts';
import { siteOf } from '../rate-limit/policies.ts';

/**
 * @throws OAuthError `invalid_client` for an unknown `client_id`, shown on a page: there is no redirect URI to trust yet
 * @see OAuth 2.1 draft 13 §4.1.2.1, RFC 6749 §4.1.2.1
 */
export async function resolveClient(
  { findClient }: Pick<PageContext, 'findClient'>,
  parameters: Parameters,
  connection: ConnectionInfo,
): Promise<ResolvedClient> {
  const client = await findClient(parameters.required('client_id'), 'start', siteOf(connection));
  if (client !== null) return client;
  throw new OAuthError('invalid_client', 'The client_id is unknown: register the client first.');
}
