/** Whether an access token still stands: neither it, nor its grant, nor a client that acts for itself has ended. */
import type { AccessTokenClaims } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';

/** @param claims of a verified token */
export type IsLive = (
  claims: Pick<AccessTokenClaims, 'jti' | 'iat' | 'client_id' | 'grant_id'>,
) => Promise<boolean>;

export function createIsLive({ store, clients }: Pick<Configuration, 'store' | 'clients'>): IsLive {
  return async ({ jti, iat, client_id: clientId, grant_id: grantId }) => {
    if (!(await store.isAccessTokenLive(jti, grantId ?? null))) return false;
    return grantId !== undefined || (await isStanding(clientId, iat));
  };

  /** A token without a grant rests on its client: it ends with it, and a later one of the same name inherits nothing. */
  async function isStanding(clientId: string, issuedAt: number): Promise<boolean> {
    if (clients.has(clientId)) return true;
    const client = await store.findClient(clientId);
    return client !== null && client.disabledAt === null && client.createdAt <= issuedAt;
  }
}
