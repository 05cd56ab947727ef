/** What a grant is: one way in which a proven client gets tokens. */
import type { ConnectionInfo } from '@portcullis/http';
import type { Parameters, TokenResponse } from '@portcullis/protocol';
import type { AuthenticatedClient } from '../clients/authenticate.ts';
import type { Configuration } from '../configuration.ts';
import type { AccessTokens } from '../keys/access-tokens.ts';
import type { Limits } from '../limits/limits.ts';
import type { Mint } from './mint.ts';
import type { RefreshTokens } from './refresh-tokens.ts';
import type { UpstreamTokenFor } from './upstream-token-for.ts';

/** Serves a request of a proven client that registered this grant. Throws `OAuthError`. */
export type Grant = (
  client: AuthenticatedClient,
  form: Parameters,
  connection: ConnectionInfo,
) => Promise<TokenResponse>;

/** What grants work with. */
export interface GrantHands {
  readonly configuration: Configuration;
  readonly limits: Limits;
  readonly mint: Mint;
  readonly refreshTokens: RefreshTokens;
  readonly accessTokens: AccessTokens;
  readonly upstreamTokenFor: UpstreamTokenFor;
}
