/** What a grant is: one way in which a proven client gets tokens. */

import type { ConnectionInfo } from '@portcullis/http';
import type { Parameters, TokenResponse } from '@portcullis/protocol';
import type { AuthenticatedClient } from '../clients/verify-client-credentials.ts';
import type { ServerContext } from '../context.ts';
import type { AccessTokenFormat } from '../keys/access-token-format.ts';
import type { IssueAccessToken } from './issue.ts';
import type { RefreshTokens } from './refresh-token-family.ts';
import type { GetProviderToken } from './upstream-token-for.ts';

/** Serves a request of a proven client that registered this grant. Throws `OAuthError`. */
export type GrantHandler = (
  client: AuthenticatedClient,
  form: Parameters,
  connection: ConnectionInfo,
) => Promise<TokenResponse>;

/** What grants work with. */
export interface GrantServices {
  readonly context: ServerContext;
  readonly mint: IssueAccessToken;
  readonly refreshTokens: RefreshTokens;
  readonly accessTokens: AccessTokenFormat;
  readonly upstreamTokenFor: GetProviderToken;
}
