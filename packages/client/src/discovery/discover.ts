/** Discovery: from the server's challenge to its resource metadata, and from there to its authorization server. */
import type { Profile, ProtocolVersionHeader } from '@portcullis/protocol';
import { ClientError } from '../errors.ts';
import type { Transport } from '../transport.ts';
import type { ServerChallenge } from './challenge.ts';
import {
  buildDiscoveryResult,
  type DiscoveryExceptions,
  type DiscoveryResult,
  initialProfile,
  type ProfileSelection,
  selectProfile,
} from './discovery-result.ts';
import { findResourceMetadata } from './resource-metadata.ts';
import { findServerMetadata } from './server-metadata.ts';

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
  const hasMetadata = initialProfile(settings.profile).discovery !== 'server-origin';
  const found = hasMetadata ? await findResourceMetadata(settings, server, challenge) : null;
  return discoverIssuer(settings, selectProfile(server, challenge, found, settings.profile));
}

/** Maximum number of hosts contacted for one server, which may name any number, each for several requests. */
const MAX_AUTHORIZATION_SERVERS = 10;

/** Uses the first working authorization server; if none works, throws the first error. */
async function discoverIssuer(
  settings: DiscoverySettings,
  selection: ProfileSelection,
): Promise<DiscoveryResult> {
  const { profile, resourceMetadata, issuers } = selection;
  let failure: unknown = null;
  const ordered = new Set(resourceMetadata === null ? issuers : await settings.order(issuers));
  for (const named of [...ordered].slice(0, MAX_AUTHORIZATION_SERVERS)) {
    const issuer = resolveAlias(settings, named);
    try {
      const metadata = await findServerMetadata(settings, issuer, profile);
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
