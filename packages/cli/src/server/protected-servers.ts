/** What tokens are issued for: the application of this process, and the servers that the settings name. */
import type { ProtectedApplication } from './application.ts';
import type { Prepared } from './prepare.ts';

/** A server that tokens are issued for. */
export interface ProtectedServer {
  readonly name: string;
  readonly url: string;
  /** Whether it stands here, behind our guard. */
  readonly isOwn: boolean;
}

/** The application first. */
export function protectedServers(
  { application, settings }: Prepared,
  issuer: string,
): readonly ProtectedServer[] {
  return [
    ...(application === null
      ? []
      : [{ name: application.name, url: resourceOf(application, issuer), isOwn: true }]),
    ...settings.resources.map(({ name, resource }) => ({ name, url: resource, isOwn: false })),
  ];
}

/** The URL of the application: the resource that its tokens are issued for. */
export function resourceOf({ path }: ProtectedApplication, issuer: string): string {
  return `${new URL(issuer).origin}${path}`;
}
