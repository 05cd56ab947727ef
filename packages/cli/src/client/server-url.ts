/** The URL of a server as a person wrote it. */
import { ClientError } from '@portcullis/client';
import { resourceOfServer } from '@portcullis/protocol';

/**
 * Its canonical form.
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
