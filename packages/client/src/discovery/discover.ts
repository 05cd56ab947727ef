/** From a server URL to its authorization server: which revision the server speaks, by evidence, and what it offers. */
import {
  type AuthorizationServerMetadata,
  authorizationBaseUrl,
  defaultEndpoints,
  type Profile,
  type ProtectedResourceMetadata,
  type ProtocolVersionHeader,
  profileA,
  profileD,
} from '@portcullis/protocol';
import { ClientError, displayText } from '../errors.ts';
import type { Wire } from '../transport.ts';
import type { ServerChallenge } from './challenge.ts';
import { checkEndpoints } from './endpoints.ts';
import { findResourceMetadata } from './resource-metadata.ts';
import { findServerMetadata } from './server-metadata.ts';

/** All that is known about how a server is authorized. */
export interface Discovery {
  readonly profile: Profile;
  /** Canonical URL of the protected server. */
  readonly server: string;
  /** The resource indicator as the server publishes it; `null` where the profile sends none. */
  readonly resource: string | null;
  /** The identifier by which the authorization server was found: credentials are kept by it. */
  readonly issuer: string;
  readonly metadata: AuthorizationServerMetadata;
  /** Where the endpoints come from. */
  readonly endpoints: 'metadata' | 'default-paths';
  readonly resourceMetadata: ProtectedResourceMetadata | null;
  readonly challenge: ServerChallenge;
}

export interface DiscoverySettings {
  readonly wire: Wire;
  /** Pins the revision; `null`: found out by evidence. */
  readonly profile: Profile | null;
  readonly versionHeader: ProtocolVersionHeader;
  readonly trustedOrigins: readonly string[];
  /** Issuer as metadata names it → issuer as its own document does, where both are known to mean one. */
  readonly issuerAliases: Readonly<Record<string, string>>;
  /** Puts the authorization servers of a resource in the order in which they are tried. */
  readonly order: (issuers: readonly string[]) => readonly string[] | Promise<readonly string[]>;
}

/**
 * Discovers. A server with protected resource metadata is met by the newest revision; one without any is met by the
 * oldest, at its own origin. An outage on the way is an error and never a reason to step down.
 * @throws ClientError
 * @see seed 4.2 and 4.3
 */
export async function discover(
  settings: DiscoverySettings,
  server: string,
  challenge: ServerChallenge,
): Promise<Discovery> {
  const asked = settings.profile ?? profileD;
  if (asked.discovery === 'server-origin') return discoverAtOrigin(settings, asked, server, challenge);

  const resourceMetadata = await findResourceMetadata(
    { ...settings, headers: versionHeaders(settings, asked) },
    server,
    challenge,
  );
  if (resourceMetadata !== null) return chooseServer(settings, asked, server, challenge, resourceMetadata);
  if (settings.profile === null) return discoverAtOrigin(settings, profileA, server, challenge);
  throw new ClientError(
    'metadata_missing',
    `${server} publishes no protected resource metadata, which revision ${asked.revision} needs.`,
  );
}

/** The first authorization server that can be used; what kept the earlier ones from it is said when none can. */
async function chooseServer(
  settings: DiscoverySettings,
  profile: Profile,
  server: string,
  challenge: ServerChallenge,
  resourceMetadata: ProtectedResourceMetadata,
): Promise<Discovery> {
  let failure: unknown = null;
  for (const named of await settings.order(resourceMetadata.authorization_servers)) {
    const issuer = Object.hasOwn(settings.issuerAliases, named)
      ? (settings.issuerAliases[named] ?? named)
      : named;
    try {
      const metadata = await requireServerMetadata(settings, profile, issuer);
      const resource = profile.resourceIndicator === 'send' ? resourceMetadata.resource : null;
      return {
        profile,
        server,
        resource,
        issuer,
        metadata,
        endpoints: 'metadata',
        resourceMetadata,
        challenge,
      };
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure ?? new ClientError('metadata_missing', 'None of the authorization servers was chosen.');
}

async function requireServerMetadata(
  settings: DiscoverySettings,
  profile: Profile,
  issuer: string,
): Promise<AuthorizationServerMetadata> {
  const metadata = await findServerMetadata(
    { wire: settings.wire, headers: versionHeaders(settings, profile) },
    issuer,
    profile,
  );
  if (metadata === null) {
    throw new ClientError(
      'metadata_missing',
      `The authorization server ${displayText(issuer)} publishes no metadata.`,
    );
  }
  checkEndpoints(metadata, issuer, profile, settings.trustedOrigins);
  return metadata;
}

/** The server's own origin speaks for it; with no document there, the default paths do. @see seed 4.2 */
async function discoverAtOrigin(
  settings: DiscoverySettings,
  profile: Profile,
  server: string,
  challenge: ServerChallenge,
): Promise<Discovery> {
  const issuer = authorizationBaseUrl(server);
  const found = await findServerMetadata(
    { wire: settings.wire, headers: versionHeaders(settings, profile) },
    issuer,
    profile,
  );
  const base = { profile, server, issuer, resource: null, resourceMetadata: null, challenge };
  if (found !== null) {
    checkEndpoints(found, issuer, profile, settings.trustedOrigins);
    return { ...base, metadata: found, endpoints: 'metadata' };
  }
  if (profile.endpointFallback === 'none') {
    throw new ClientError('metadata_missing', `The authorization server ${issuer} publishes no metadata.`);
  }
  return { ...base, metadata: { issuer, ...defaultEndpoints(issuer) }, endpoints: 'default-paths' };
}

/** Clients SHOULD say on discovery which revision they speak. @see seed 2.4 row 7 */
function versionHeaders(settings: DiscoverySettings, profile: Profile): Readonly<Record<string, string>> {
  return { [settings.versionHeader]: profile.revision };
}
