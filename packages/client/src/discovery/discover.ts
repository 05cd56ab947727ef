/** From a server URL to its authorization server: the documents are fetched one after the other, and judged. */
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
  firstProfile,
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
  /** Pins the revision; `null`: found out by evidence. */
  readonly profile: Profile | null;
  readonly versionHeader: ProtocolVersionHeader;
  /** Issuer as metadata names it → issuer as its own document does, where both are known to mean one. */
  readonly issuerAliases: Readonly<Record<string, string>>;
  /** Puts the authorization servers of a resource in the order in which they are tried. */
  readonly order: (issuers: readonly string[]) => readonly string[] | Promise<readonly string[]>;
}

/**
 * Discovers. An outage on the way is an error and never a reason to step down.
 * @throws ClientError
 * @see seed 4.2 and 4.3
 */
export async function discover(
  settings: DiscoverySettings,
  server: string,
  challenge: ServerChallenge,
): Promise<DiscoveryResult> {
  const asked = firstProfile(settings.profile);
  const headers = versionHeaders(settings.versionHeader, asked);
  const found =
    asked.discovery === 'server-origin'
      ? null
      : await findResourceMetadata({ ...settings, headers }, server, challenge);
  return chooseServer(settings, selectProfile(server, challenge, found, settings.profile));
}

/** The first authorization server that can be used; what kept the earlier ones from it is said when none can. */
async function chooseServer(settings: DiscoverySettings, way: ProfileSelection): Promise<DiscoveryResult> {
  const headers = versionHeaders(settings.versionHeader, way.profile);
  let failure: unknown = null;
  for (const named of way.resourceMetadata === null ? way.issuers : await settings.order(way.issuers)) {
    const issuer = aliasOf(settings, named);
    try {
      const metadata = await findServerMetadata(
        { transport: settings.transport, headers },
        issuer,
        way.profile,
      );
      return buildDiscoveryResult(way, issuer, metadata, settings);
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure ?? new ClientError('metadata_missing', 'None of the authorization servers was chosen.');
}

function aliasOf({ issuerAliases }: DiscoverySettings, named: string): string {
  return Object.hasOwn(issuerAliases, named) ? (issuerAliases[named] ?? named) : named;
}

/** Clients SHOULD say on discovery which revision they speak. @see seed 2.4 row 7 */
function versionHeaders(
  versionHeader: ProtocolVersionHeader,
  { revision }: Profile,
): Readonly<Record<string, string>> {
  return { [versionHeader]: revision };
}

/** What requests for documents are written with. */
export interface MetadataRequestOptions {
  readonly versionHeader?: ProtocolVersionHeader;
  readonly trustedOrigins?: readonly string[];
}

/**
 * Writes the requests for the metadata of a server, to be sent in this order until one of them has it.
 * @throws ClientError `endpoint_refused` when the challenge names a foreign place
 */
export function resourceMetadataRequests(
  server: string,
  challenge: ServerChallenge = NO_CHALLENGE,
  { versionHeader = PROTOCOL_VERSION_HEADERS[0], trustedOrigins = [] }: MetadataRequestOptions = {},
): readonly OAuthRequest[] {
  const headers = versionHeaders(versionHeader, firstProfile(null));
  return resourceMetadataLocations(server, challenge, trustedOrigins).map((url) => getRequest(url, headers));
}

/**
 * Understands the answer of one place: the document, or `null`, and the next place may be asked.
 * @throws ClientError when the place is out of order, or its document is not one for this server: ask no other.
 */
export function processResourceMetadataResponse(
  ask: OAuthRequest,
  answer: OAuthResponse,
  server: string,
): ProtectedResourceMetadata | null {
  const json = processDocumentResponse(ask, answer);
  return json === null ? null : validateResourceMetadata(json, server);
}

/** Writes the requests for the metadata of an issuer, to be sent in this order until one of them has it. */
export function serverMetadataRequests(
  issuer: string,
  profile: Profile,
  { versionHeader = PROTOCOL_VERSION_HEADERS[0] }: MetadataRequestOptions = {},
): readonly OAuthRequest[] {
  const headers = versionHeaders(versionHeader, profile);
  return serverMetadataUrls(issuer, profile.serverMetadata).map((url) => getRequest(url, headers));
}

/**
 * Understands the answer of one place: the document, or `null`, and the next place may be asked.
 * @throws ClientError when the place is out of order, or its document is not this issuer's: ask no other.
 */
export function processServerMetadataResponse(
  ask: OAuthRequest,
  answer: OAuthResponse,
  issuer: string,
  profile: Profile,
): AuthorizationServerMetadata | null {
  const json = processDocumentResponse(ask, answer);
  return json === null ? null : validateServerMetadata(json, issuer, profile);
}
