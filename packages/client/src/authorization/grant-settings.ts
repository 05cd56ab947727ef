/** The grants a client can use, each with what it needs: on whose behalf the client acts. */

/** A user in a browser. */
interface UserGrant {
  readonly kind: 'user';
}

/** The application itself, with the secret or key of its preregistered client. @see RFC 6749 §4.4 */
export interface ApplicationGrant {
  readonly kind: 'application';
}

/** A workload with a token of its platform. @see RFC 7523 §2.1 */
export interface WorkloadGrant {
  readonly kind: 'workload';
  /** Fetches the platform's token, for this audience where the platform supports audiences. */
  readonly assertion: (audience: string) => Promise<string>;
}

/** An enterprise's identity provider, and this client's registration there. */
export interface EnterpriseIdentityProvider {
  readonly tokenEndpoint: string;
  readonly clientId: string;
  readonly clientSecret?: string;
}

/** A user signed in at an enterprise's identity provider, which decides about access. */
export interface EnterpriseGrant {
  readonly kind: 'enterprise';
  /** A function is called before each token exchange, so that an organization can change it at any time. */
  readonly identityProvider:
    | EnterpriseIdentityProvider
    | (() => EnterpriseIdentityProvider | Promise<EnterpriseIdentityProvider>);
  /** Fetches the identity assertion of the signed-in user, or the refresh token that the identity provider issued with it. */
  readonly subjectToken: () => Promise<string>;
  /** `id_token` by default. */
  readonly subjectTokenType?: 'id_token' | 'saml2' | 'refresh_token';
}

/** What is shown to a user who signs in on another device. */
export interface DevicePrompt {
  /**
   * The authorization server: its issuer, or the origin that a server without resource metadata names. A page at another origin
   * can be that of another authorization server, with a code of an attacker; that of some providers is, too.
   */
  readonly location: string;
  /** To be entered on the verification page. */
  readonly userCode: string;
  /** https, or http on a loopback address. */
  readonly verificationUri: string;
  /** The same with the code included, for a link or a QR code. */
  readonly verificationUriComplete: string | null;
  /** Seconds. */
  readonly expiresIn: number;
}

/** A user who signs in on another device. @see RFC 8628 */
export interface DeviceGrant {
  readonly kind: 'device';
  readonly show: (prompt: DevicePrompt) => void | Promise<void>;
}

/** How tokens are obtained: with a user, on a second device, or for the application, a workload or an enterprise. */
export type GrantSettings = UserGrant | DeviceGrant | ApplicationGrant | WorkloadGrant | EnterpriseGrant;

/** Whether tokens are issued without a user's consent: to the application, the workload or the enterprise. */
export function isMachineGrant({ kind }: GrantSettings): boolean {
  return kind !== 'user' && kind !== 'device';
}

/** Protocol extensions by grant. */
const EXTENSIONS: Readonly<Partial<Record<GrantSettings['kind'], string>>> = {
  application: 'io.modelcontextprotocol/oauth-client-credentials',
  enterprise: 'io.modelcontextprotocol/enterprise-managed-authorization',
  workload: 'io.modelcontextprotocol/auth/wif',
};

/** The `extensions` that a client has to declare in its capabilities because of its grant. */
export function extensionsOf({ kind }: GrantSettings): Readonly<Record<string, object>> {
  const name = EXTENSIONS[kind];
  return name === undefined ? {} : { [name]: {} };
}
