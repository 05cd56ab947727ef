/** The message endpoint of an HTTP+SSE server: read from its stream, on the server's own origin, and allowed to receive the token. */
import { ClientError } from '@portcullis/client';
import { resolveEndpoint } from '@portcullis/http';
import { cleanLine } from '../../terminal/clean.ts';

/** The only path besides the resource to which the token is sent. The query, which contains the session ID, differs per stream. */
export function createMessageEndpoint() {
  let current: string | null = null;
  return {
    /** For the client's option `sendTokenTo`. */
    isCurrent: ({ pathname }: URL) => pathname === current,
    /** Replaces the endpoint with the one from a stream. */
    accept({ pathname }: URL): void {
      current = pathname;
    },
  };
}

/**
 * Reads the URL of an `endpoint` event. Messages and the token go there, so it must be on the origin of the server.
 * @throws ClientError `endpoint_refused`
 */
export function readMessageEndpoint(text: string, server: string): URL {
  const url = resolveEndpoint(text, new URL(server));
  if (url !== null) return url;
  throw new ClientError(
    'endpoint_refused',
    `The server names the message endpoint ${cleanLine(text).slice(0, 200)}, which is not on its own origin. Nothing was sent there.`,
  );
}
