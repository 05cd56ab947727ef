/** Finds the client of an authorization request (configured, registered, or named by its metadata document) and its redirect URI. */
import type { ConnectionInfo } from '@portcullis/http';
import {
  checkRedirectUri,
  OAuthError,
  type Parameters,
  type RedirectPolicy,
  type RedirectTarget,
} from '@portcullis/protocol';
import { type ResolvedClient, UNKNOWN_CLIENT_ID } from '../clients/client.ts';
import { RejectedClientRequest } from '../http/rejected-client-request.ts';
import { siteOf } from '../rate-limit/policies.ts';
import type { PageContext } from './page-context.ts';

/**
 * @throws OAuthError `invalid_client` for an unknown `client_id`, shown on a page: there is no redirect URI to trust yet
 * @see OAuth 2.1 draft 13 §4.1.2.1, RFC 6749 §4.1.2.1
 */
export async function resolveClient(
  { findClient }: Pick<PageContext, 'findClient'>,
  parameters: Parameters,
  connection: ConnectionInfo,
): Promise<ResolvedClient> {
  const clientId = parameters.required('client_id');
  const client = await findClient(clientId, 'start', siteOf(connection));
  if (client !== null) return client;
  const description = 'The client_id is unknown: register the client first.';
  const facts = UNKNOWN_CLIENT_ID.test(clientId) ? { clientId } : {};
  throw new RejectedClientRequest('invalid_client', description, { facts });
}

/** Registered redirect URIs in an event. */
const MAX_LISTED = 10;

/**
 * The redirect URI that the client registered.
 * @throws OAuthError `invalid_request`, shown on a page: there is nowhere to redirect to
 * @see OAuth 2.1 draft 13 §4.1.2.1
 */
export function resolveRedirectTarget(
  { id: clientId, metadata: { redirect_uris: registered } }: ResolvedClient,
  requested: string | undefined,
  redirects: RedirectPolicy,
): RedirectTarget {
  try {
    return checkRedirectUri(registered, requested, redirects);
  } catch (cause) {
    if (!(cause instanceof OAuthError)) throw cause;
    const facts = {
      clientId,
      ...(requested !== undefined && { requestedRedirectUri: withoutPassword(requested) }),
      registeredRedirectUris: registered.slice(0, MAX_LISTED),
    };
    throw new RejectedClientRequest(cause.code, cause.description, { facts, cause });
  }
}

/** A URI as sent, without user information. */
function withoutPassword(uri: string): string {
  return uri.replace(/\/\/[^/?#]*@/, '//…@');
}

/** Where the transaction of a device ends: on a page of this server. No client can request it. */
export const DEVICE_CALLBACK = '/device/done';

/** Seconds for which a device code, and what its user decided, is valid. @see RFC 8628 §3.2, `expires_in` */
export const DEVICE_CODE_LIFETIME = 600;

/** The redirect target of transactions of devices. */
export function deviceTarget(issuer: string): RedirectTarget {
  const uri = new URL(issuer).origin + DEVICE_CALLBACK;
  return checkRedirectUri([uri], uri);
}

/** Whether a transaction is of a device. */
export function isDeviceTarget({ uri }: Pick<RedirectTarget, 'uri'>, issuer: string): boolean {
  return uri.endsWith(DEVICE_CALLBACK) && uri === new URL(issuer).origin + DEVICE_CALLBACK;
}

/** The target of a stored transaction, proven again. */
export function restoreTarget(
  client: ResolvedClient,
  uri: string,
  options: Pick<PageContext['options'], 'redirects' | 'issuer' | 'deviceAuthorization'>,
): RedirectTarget {
  const isOfDevice = options.deviceAuthorization && isDeviceTarget({ uri }, options.issuer);
  return isOfDevice ? deviceTarget(options.issuer) : resolveRedirectTarget(client, uri, options.redirects);
}
