/** The servers that tokens are issued for: the application and the gateway in this process, and the configured resources. */
import { publicPartsOf } from '@portcullis/gateway/options';
import type { ProtectedApplication } from './application.ts';
import type { Prepared } from './prepare.ts';

/** A server that tokens are issued for. */
export interface ProtectedServer {
  readonly name: string;
  readonly url: string;
  /** Whether it runs in this process, behind our guard. */
  readonly isOwn: boolean;
  /** Whether it has operations that need no token. */
  readonly hasPublicOperations?: boolean;
  /** Default scopes without configuration: one for tools annotated as read-only, one for all others. */
  readonly proposedScopes?: readonly [reading: string, other: string];
}

/** Lists the protected servers: the application first, then those behind the gateway. */
export function protectedServers(
  { application, serversAt, settings }: Prepared,
  issuer: string,
): readonly ProtectedServer[] {
  return [
    ...(application === null
      ? []
      : [{ name: application.name, url: resourceOf(application, issuer), isOwn: true }]),
    ...serversAt(issuer).map((server, _index, all) => {
      const { id, name, resource, scopes, merges } = server;
      return {
        name,
        url: resource,
        isOwn: true,
        hasPublicOperations: publicPartsOf(server, all).length > 0,
        ...(Object.keys(scopes).length === 0 &&
          merges === null && { proposedScopes: [`${id}:read`, `${id}:write`] as const }),
      };
    }),
    ...settings.resources.map(({ name, resource }) => ({ name, url: resource, isOwn: false })),
  ];
}

/** The URL of the application: the audience of its tokens. */
export function resourceOf({ path }: ProtectedApplication, issuer: string): string {
  return `${new URL(issuer).origin}${path}`;
}
