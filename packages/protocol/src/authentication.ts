/** How and when a user signed in: authentication context classes, and what a request or an operation demands of them (RFC 9470). */

/** Authentication context classes of our authorization server, by the number of factors. @see OpenID Connect Core 1.0 §2, `acr` */
export const ONE_FACTOR = '1fa';
/** The class for two factors, beside {@link ONE_FACTOR}. */
export const TWO_FACTORS = '2fa';

/** A user's authentication. */
export interface UserAuthentication {
  /** Epoch seconds. */
  readonly time: number;
  /** Methods by their names in RFC 8176, such as `pwd`, `otp` and `mfa`; `fed` for an identity provider's login. */
  readonly methods: readonly string[];
}

/** What an operation demands. */
export interface AuthenticationRequirement {
  /** Seconds since the sign-in, at most. */
  readonly maxAge?: number;
  /** Authentication context classes, any of which suffices, such as `2fa`. */
  readonly acrValues?: readonly string[];
  /** The token has to be bound to a key of the client. @see RFC 9449 */
  readonly dpop?: boolean;
}

/** The class of an authentication. */
export function acrOf({ methods }: Pick<UserAuthentication, 'methods'>): string {
  return methods.includes('mfa') ? TWO_FACTORS : ONE_FACTOR;
}

/** Whether an authentication is of one of the classes. Two factors are one, too. */
export function satisfiesAcr(acr: string, acrValues: readonly string[]): boolean {
  return acrValues.includes(acr) || (acr === TWO_FACTORS && acrValues.includes(ONE_FACTOR));
}
