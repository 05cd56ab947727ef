/** What an operator says about registration: who may, what a registration can ever get, and how it is judged. */
import { hashSecret } from '../secrets.ts';

/** What an operator says about registration. */
export interface RegistrationOptions {
  /** Who registers presents one of these as a bearer token; anybody may register when left out. */
  readonly initialAccessTokens?: readonly string[];
  /**
   * Whether who registers has to present an initial access token: one of those, or an invitation of an administrator, which is
   * for one registration. `true` with `initialAccessTokens`, else `false` when left out.
   */
  readonly requireInitialAccessToken?: boolean;
  /**
   * What the scope means that a client registers: a `ceiling` for everything that it can ever get, or a `hint` that limits
   * nothing, because clients register before they know which scopes there are. `hint` when left out.
   */
  readonly scope?: 'ceiling' | 'hint';
  /** Registrations that may wait for their first token at one time; 20,000 when left out. */
  readonly maxUnusedClients?: number;
  /** Whether clients may read, change and delete their registrations; `true` when left out. @see RFC 7592 */
  readonly management?: boolean;
}

/** The rules as judged. */
export interface RegistrationRules {
  /** Base64url SHA-256 of each. */
  readonly initialAccessHashes: readonly string[];
  /** `false`: anybody may register. */
  readonly requireInitialAccessToken: boolean;
  readonly scope: 'ceiling' | 'hint';
  readonly maxUnusedClients: number;
  readonly management: boolean;
}

/** @returns `null` when nobody may register */
export function judgeRegistration(
  options: boolean | RegistrationOptions,
  issues: string[],
): RegistrationRules | null {
  if (options === false) return null;
  const {
    initialAccessTokens,
    requireInitialAccessToken = initialAccessTokens !== undefined,
    scope = 'hint',
    maxUnusedClients = 20_000,
    management = true,
  } = options === true ? {} : options;
  if (initialAccessTokens?.length === 0) {
    issues.push(
      'registration.initialAccessTokens must hold at least one: set registration to false to refuse all',
    );
  }
  if (initialAccessTokens?.some((token) => !/^[A-Za-z0-9\-._~+/]{16,}=*$/.test(token)) === true) {
    issues.push('registration.initialAccessTokens must be bearer tokens of at least 16 characters');
  }
  if (!requireInitialAccessToken && initialAccessTokens !== undefined) {
    issues.push(
      'registration.requireInitialAccessToken must not be false where initialAccessTokens are asked for',
    );
  }
  if (!Number.isSafeInteger(maxUnusedClients) || maxUnusedClients < 1) {
    issues.push('registration.maxUnusedClients must be a whole number, at least 1');
  }
  return Object.freeze<RegistrationRules>({
    initialAccessHashes: (initialAccessTokens ?? []).map(hashSecret),
    requireInitialAccessToken,
    scope,
    maxUnusedClients,
    management,
  });
}
