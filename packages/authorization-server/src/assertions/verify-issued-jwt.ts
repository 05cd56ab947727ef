/** Verifies a JWT of an issuer whose keys are found by discovery: by a client's algorithms, at the time of this server. */
import type { JWTVerifyOptions, JWTVerifyResult } from 'jose';
import { clientAssertionAlgorithms } from '../clients/read-client-credentials.ts';
import { verifyJwt } from '../clients/verify-jwt.ts';
import type { FindIssuerKeys } from './issuer-keys.ts';

/**
 * @param now epoch seconds
 * @throws JOSEError for every issue of the token, OAuthError of `findKeys`
 */
export function verifyIssuedJwt(
  token: string,
  issuer: Parameters<FindIssuerKeys>[0],
  findKeys: FindIssuerKeys,
  now: number,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  return verifyJwt(token, (wanted) => findKeys(issuer, wanted), true, {
    algorithms: [...clientAssertionAlgorithms],
    issuer: issuer.issuer,
    currentDate: new Date(now * 1000),
    ...options,
  });
}
