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
import { type Answer, type Ask, askFor, type Wire } from '../transport.ts';
import { NO_CHALLENGE, type ServerChallenge } from './challenge.ts';
import {
  chooseWay,
  concludeDiscovery,
  type Discovery,
  type Exceptions,
  firstProfile,
  type Way,
} from './conclude.ts';
import { understandDocument } from './documents.ts';
import { checkResourceMetadata, findResourceMetadata, resourceMetadataPlaces } from './resource-metadata.ts';
import { checkServerMetadata, findServerMetadata } from './server-metadata.ts';

export interface DiscoverySettings extends Required<Exceptions> {
  readonly wire: Wire;
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
): Promise<Discovery> {
  const asked = firstProfile(settings.profile);
  const headers = versionHeaders(settings.versionHeader, asked);
  const found =
    asked.discovery === 'server-origin'
      ? null
      : await findResourceMetadata({ ...settings, headers }, server, challenge);
  return chooseServer(settings, chooseWay(server, challenge, found, settings.profile));
}

/** The first authorization server that can be used; what kept the earlier ones from it is said when none can. */
async function chooseServer(settings: DiscoverySettings, way: Way): Promise<Discovery> {
  const headers = versionHeaders(settings.versionHeader, way.profile);
  let failure: unknown = null;
  for (const named of way.resourceMetadata === null ? way.issuers : await settings.order(way.issuers)) {
    const issuer = aliasOf(settings, named);
    try {
      const metadata = await findServerMetadata({ wire: settings.wire, headers }, issuer, way.profile);
      return concludeDiscovery(way, issuer, metadata, settings);
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
export interface DocumentSettings {
  readonly versionHeader?: ProtocolVersionHeader;
  readonly trustedOrigins?: readonly string[];
}

/**
 * Writes the requests for the metadata of a server, to be sent in this order until one of them has it.
 * @throws ClientError `endpoint_refused` when the challenge names a foreign place
 */
export function askResourceMetadata(
  server: string,
  challenge: ServerChallenge = NO_CHALLENGE,
  { versionHeader = PROTOCOL_VERSION_HEADERS[0], trustedOrigins = [] }: DocumentSettings = {},
): readonly Ask[] {
  const headers = versionHeaders(versionHeader, firstProfile(null));
  return resourceMetadataPlaces(server, challenge, trustedOrigins).map((url) => askFor(url, headers));
}

/**
 * Understands the answer of one place: the document, or `null`, and the next place may be asked.
 * @throws ClientError when the place is out of order, or its document is not one for this server: ask no other.
 */
export function understandResourceMetadata(
  ask: Ask,
  answer: Answer,
  server: string,
): ProtectedResourceMetadata | null {
  const json = understandDocument(ask, answer);
  return json === null ? null : checkResourceMetadata(json, server);
}

/** Writes the requests for the metadata of an issuer, to be sent in this order until one of them has it. */
export function askServerMetadata(
  issuer: string,
  profile: Profile,
  { versionHeader = PROTOCOL_VERSION_HEADERS[0] }: DocumentSettings = {},
): readonly Ask[] {
  const headers = versionHeaders(versionHeader, profile);
  return serverMetadataUrls(issuer, profile.serverMetadata).map((url) => askFor(url, headers));
}

/**
 * Understands the answer of one place: the document, or `null`, and the next place may be asked.
 * @throws ClientError when the place is out of order, or its document is not this issuer's: ask no other.
 */
export function understandServerMetadata(
  ask: Ask,
  answer: Answer,
  issuer: string,
  profile: Profile,
): AuthorizationServerMetadata | null {
  const json = understandDocument(ask, answer);
  return json === null ? null : checkServerMetadata(json, issuer, profile);
}
