/** Discovery: from the server's challenge to its resource metadata, and from there to its authorization server. */
import {
  type AuthorizationServerMetadata,
  PROTOCOL_VERSION_HEADERS,
  type Profile,
  type ProtectedResourceMetadata,
  type ProtocolVersionHeader,
  serverMetadataUrls,
} from '@portcullis/protocol';
import { ClientError } from '../errors.ts';
import { getRequest, type OAuthRequest, type OAuthResponse, type Transport } from '../transport.ts';
import { NO_CHALLENGE, type ServerChallenge } from './challenge.ts';
import {
  buildDiscoveryResult,
  type DiscoveryExceptions,
  type DiscoveryResult,
  initialProfile,
  type ProfileSelection,
  selectProfile,
} from './discovery-result.ts';
import { processDocumentResponse } from './documents.ts';
import {
  findResourceMetadata,
  resourceMetadataLocations,
  validateResourceMetadata,
} from './resource-metadata.ts';
import { findServerMetadata, validateServerMetadata } from './server-metadata.ts';

export interface DiscoverySettings extends Required<DiscoveryExceptions> {
  readonly transport: Transport;
  /** Pins the revision; `null`: detect it. */
  readonly profile: Profile | null;
  readonly versionHeader: ProtocolVersionHeader;
  /** Issuer as named by the resource metadata → issuer as named by its own metadata, where both are the same server. */
  readonly issuerAliases: Readonly<Record<string, string>>;
  /** Orders the authorization servers of a resource. */
  readonly order: (issuers: readonly string[]) => readonly string[] | Promise<readonly string[]>;
}

/**
 * Discovers the authorization server. An outage is an error, and never a reason to assume an older revision.
 * @throws ClientError
 * @see RFC 9728 §5, RFC 8414 §3, seed 4.2 and 4.3
 */
export async function discover(
  settings: DiscoverySettings,
  server: string,
  challenge: ServerChallenge,
): Promise<DiscoveryResult> {
  const profile = initialProfile(settings.profile);
  const headers = versionHeaders(settings.versionHeader, profile);
  const found =
    profile.discovery === 'server-origin'
      ? null
      : await findResourceMetadata({ ...settings, headers }, server, challenge);
  return discoverIssuer(settings, selectProfile(server, challenge, found, settings.profile));
}

/** Maximum number of hosts contacted for one server, which may name any number, each for several requests. */
const MAX_AUTHORIZATION_SERVERS = 10;

/** Uses the first working authorization server; if none works, throws the first error. */
async function discoverIssuer(
  settings: DiscoverySettings,
  selection: ProfileSelection,
): Promise<DiscoveryResult> {
  const { transport, versionHeader, order } = settings;
  const { profile, resourceMetadata, issuers } = selection;
  const headers = versionHeaders(versionHeader, profile);
  let failure: unknown = null;
  const ordered = new Set(resourceMetadata === null ? issuers : await order(issuers));
  for (const named of [...ordered].slice(0, MAX_AUTHORIZATION_SERVERS)) {
    const issuer = resolveAlias(settings, named);
    try {
      const metadata = await findServerMetadata({ transport, headers }, issuer, profile);
      return buildDiscoveryResult(selection, issuer, metadata, settings);
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure ?? new ClientError('metadata_missing', 'No authorization server was selected.');
}

function resolveAlias({ issuerAliases }: DiscoverySettings, named: string): string {
  return Object.hasOwn(issuerAliases, named) ? (issuerAliases[named] ?? named) : named;
}

/** Clients SHOULD send the protocol version during discovery. @see seed 2.4 row 7 */
function versionHeaders(
  versionHeader: ProtocolVersionHeader,
  { revision }: Profile,
): Readonly<Record<string, string>> {
  return { [versionHeader]: revision };
}

/** Options for metadata requests. */
export interface MetadataRequestOptions {
  readonly versionHeader?: ProtocolVersionHeader;
  readonly trustedOrigins?: readonly string[];
}

/**
 * The requests for a server's protected resource metadata, to send in order until a response has the document.
 * @throws ClientError `endpoint_refused` when the challenge names a foreign origin; `insecure_url`
 * @see RFC 9728 §3.1
 */
export function resourceMetadataRequests(
  server: string,
  challenge: ServerChallenge = NO_CHALLENGE,
  { versionHeader = PROTOCOL_VERSION_HEADERS[0], trustedOrigins = [] }: MetadataRequestOptions = {},
): readonly OAuthRequest[] {
  const headers = versionHeaders(versionHeader, initialProfile(null));
  return resourceMetadataLocations(server, challenge, trustedOrigins).map((url) => getRequest(url, headers));
}

/**
 * Processes the response of one location: the metadata, or `null` to try the next one.
 * @throws ClientError when the location is failing (`temporarily_unavailable`, `metadata_invalid`) or its document is not for
 * this server (`resource_mismatch`): do not try another one.
 * @see RFC 9728 §3.2 and §3.3
 */
export function processResourceMetadataResponse(
  request: OAuthRequest,
  response: OAuthResponse,
  server: string,
): ProtectedResourceMetadata | null {
  const json = processDocumentResponse(request, response);
  return json === null ? null : validateResourceMetadata(json, server);
}

/**
 * The requests for an issuer's metadata, to send in order until a response has the document.
 * @throws ClientError `insecure_url`
 * @see RFC 8414 §3.1
 */
export function serverMetadataRequests(
  issuer: string,
  profile: Profile,
  { versionHeader = PROTOCOL_VERSION_HEADERS[0] }: MetadataRequestOptions = {},
): readonly OAuthRequest[] {
  const headers = versionHeaders(versionHeader, profile);
  return serverMetadataUrls(issuer, profile.serverMetadata).map((url) => getRequest(url, headers));
}

/**
 * Processes the response of one location: the metadata, or `null` to try the next one.
 * @throws ClientError when the location is failing (`temporarily_unavailable`, `metadata_invalid`) or its document belongs to
 * another issuer (`issuer_mismatch`): do not try another one.
 * @see RFC 8414 §3.2 and §3.3
 */
export function processServerMetadataResponse(
  request: OAuthRequest,
  response: OAuthResponse,
  issuer: string,
  profile: Profile,
): AuthorizationServerMetadata | null {
  const json = processDocumentResponse(request, response);
  return json === null ? null : validateServerMetadata(json, issuer, profile);
}
