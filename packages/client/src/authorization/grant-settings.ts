/** On whose behalf a client acts, and what it needs for that. */
import type { RegistrationSettings } from '../registration/registration.ts';

/** A person, in a browser. */
export interface UserGrant {
  readonly kind: 'user';
}

/** The application itself, with the preregistered client's secret or key. */
export interface ApplicationGrant {
  readonly kind: 'application';
}

/** A workload with a token of its platform. @see RFC 7523 §2.1 */
export interface WorkloadGrant {
  readonly kind: 'workload';
  /** Fetches the platform's token, made for this audience where the platform can. */
  readonly assertion: (audience: string) => Promise<string>;
}

/** An enterprise's identity provider, and this client there. */
export interface EnterpriseIdentityProvider {
  readonly tokenEndpoint: string;
  readonly clientId: string;
  readonly clientSecret?: string;
}

/** A person who is signed in at an enterprise's identity provider, which decides for them. */
export interface EnterpriseGrant {
  readonly kind: 'enterprise';
  /** Asked for before each exchange where it is a function, so that an organisation may change it at any time. */
  readonly identityProvider:
    | EnterpriseIdentityProvider
    | (() => EnterpriseIdentityProvider | Promise<EnterpriseIdentityProvider>);
  /** Fetches the identity assertion of the signed-in person. */
  readonly subjectToken: () => Promise<string>;
  readonly subjectTokenType?: 'id_token' | 'saml2';
}

/** What a person is shown who signs in on another device. */
export interface DevicePrompt {
  /** To be typed in there. */
  readonly userCode: string;
  /** https, or http on this computer. */
  readonly verificationUri: string;
  /** The same with the code in it, for a link or a QR code. */
  readonly verificationUriComplete: string | null;
  /** Seconds. */
  readonly expiresIn: number;
}

/** A person who signs in on another device. @see RFC 8628 */
export interface DeviceGrant {
  readonly kind: 'device';
  readonly show: (prompt: DevicePrompt) => void | Promise<void>;
}

/** On whose behalf tokens are asked for, and how. */
export type GrantSettings = UserGrant | DeviceGrant | ApplicationGrant | WorkloadGrant | EnterpriseGrant;

/** Whether tokens are got without anybody's consent: by the application, the workload or the enterprise itself. */
export function isMachineGrant({ kind }: GrantSettings): boolean {
  return kind !== 'user' && kind !== 'device';
}

/** What is wrong with the settings of a grant, as sentences without a full stop. */
export function findGrantIssues(grant: GrantSettings, registration: RegistrationSettings): readonly string[] {
  const configured = registration.preregistered ?? [];
  if (!isMachineGrant(grant) || configured.length > 0) return [];
  return [`the grant ${grant.kind} needs a preregistered client`];
}

/** Extensions of the protocol that a grant belongs to, by the names that a client says in its capabilities. */
const EXTENSIONS: Readonly<Partial<Record<GrantSettings['kind'], string>>> = {
  application: 'io.modelcontextprotocol/oauth-client-credentials',
  enterprise: 'io.modelcontextprotocol/enterprise-managed-authorization',
  workload: 'io.modelcontextprotocol/auth/wif',
};

/** What the client of a grant has to say under `extensions` in its capabilities, each without settings. */
export function extensionsOf({ kind }: GrantSettings): Readonly<Record<string, object>> {
  const name = EXTENSIONS[kind];
  return name === undefined ? {} : { [name]: {} };
}
