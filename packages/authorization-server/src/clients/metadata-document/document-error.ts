/** The error of a client metadata document that could not be fetched: the same for every cause that depends on its host. */
import { ClientDocumentError } from '../../http/client-document-error.ts';
import type { FetchJsonError } from './fetch-json-error.ts';

/**
 * Status, content, time-out, connection and address are one error outside, or this server could be used to scan ports (SSRF). That
 * its own network is down depends on no host.
 * @param cause every issue but `budget`
 */
export function toClientDocumentError(url: string, cause: FetchJsonError): ClientDocumentError {
  const { host } = new URL(url);
  const reason = `client document: ${cause.reason}`;
  if (cause.issue === 'egress') {
    return new ClientDocumentError(
      host,
      'temporarily_unavailable',
      `This server has no network connection to ${host} at present. Try again later.`,
      { reason, retryAfter: cause.retryAfter },
    );
  }
  return new ClientDocumentError(
    host,
    'invalid_client',
    `This server found no client metadata document at the client_id: ${host} must respond to it within seconds, with status 200, as application/json, and with the client_id as its client_id.`,
    { reason },
  );
}
