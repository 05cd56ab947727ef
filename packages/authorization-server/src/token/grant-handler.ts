/** The contract of a grant type at the token endpoint, and the services that grants share. */
import type { ConnectionInfo } from '@portcullis/http';
import type { Parameters, TokenResponse, VerifiedProof } from '@portcullis/protocol';
import type { AuthenticatedClient } from '../clients/verify-client-credentials.ts';
import type { ProviderTokens } from '../federation/provider-tokens.ts';
import type { AccessTokenFormat } from '../keys/access-token-format.ts';
import type { GetProviderToken } from './get-provider-token.ts';
import type { IsLive } from './is-live.ts';
import type { IssueAccessToken } from './issue.ts';
import type { TokenContext } from './options.ts';
import type { ReadAhead, RefreshTokens } from './refresh-token-family.ts';

/**
 * Handles the token request of an authenticated client that registered the grant type.
 * @param proof the DPoP proof of the request, whose key the token is bound to; `null`: a bearer token
 * @param ahead the grant of the refresh token, which is being read since the request arrived
 * @throws OAuthError
 */
export type GrantHandler = (
  client: AuthenticatedClient,
  form: Parameters,
  connection: ConnectionInfo,
  proof: VerifiedProof | null,
  ahead?: ReadAhead,
) => Promise<TokenResponse>;

export interface GrantServices {
  readonly context: TokenContext;
  readonly issueAccessToken: IssueAccessToken;
  readonly refreshTokens: RefreshTokens;
  readonly accessTokens: AccessTokenFormat;
  readonly getProviderToken: GetProviderToken;
  readonly isLive: IsLive;
  readonly providerTokens: Pick<ProviderTokens, 'isAlive'>;
}
