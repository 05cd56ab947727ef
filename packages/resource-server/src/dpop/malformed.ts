/** What a DPoP proof is refused with. */
import { OAuthError } from '@portcullis/protocol/protected-resource';
import { readObject } from '../tokens/compact-token.ts';

/** Says on the wire what proofs must be like, and to the operator alone what was wrong with this one. */
export function invalid(reason: string, cause?: unknown): OAuthError {
  const description = 'The DPoP proof is missing, malformed, used before, or not made for this request.';
  return new OAuthError('invalid_dpop_proof', description, { status: 401, reason, cause });
}

/** The JSON object of a segment that is base64url. @throws OAuthError `invalid_dpop_proof` */
export function readSegment(segment: string): Readonly<Record<string, unknown>> {
  try {
    return readObject(segment);
  } catch (cause) {
    throw invalid('the proof is malformed', cause);
  }
}
