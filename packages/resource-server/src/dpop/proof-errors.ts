/** What a DPoP proof is refused with. */
import { OAuthError } from '@portcullis/protocol/protected-resource';
import { parseJsonSegment } from '../verifiers/compact-jws.ts';

/** Says on the wire what proofs must be like, and to the operator alone what was wrong with this one. */
export function invalidProof(reason: string, cause?: unknown): OAuthError {
  const description = 'The DPoP proof is missing, malformed, used before, or not made for this request.';
  return new OAuthError('invalid_dpop_proof', description, { status: 401, reason, cause });
}

/** The JSON object of a segment that is base64url. @throws OAuthError `invalid_dpop_proof` */
export function parseProofSegment(segment: string): Readonly<Record<string, unknown>> {
  try {
    return parseJsonSegment(segment);
  } catch (cause) {
    throw invalidProof('the proof is malformed', cause);
  }
}
