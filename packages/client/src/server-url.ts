/** The URL of a protected server, as a person wrote it. */
import { resourceOfServer } from '@portcullis/protocol';
import { ClientError } from './errors.ts';

/**
 * Its canonical form, by which everything about the server is kept.
 * @throws ClientError `server_url_invalid`
 */
export function readServerUrl(serverUrl: string): string {
  const server = resourceOfServer(serverUrl);
  if (server !== null) return server;
  throw new ClientError(
    'server_url_invalid',
    'The server URL must be an absolute https URL, http for this computer only.',
  );
}
