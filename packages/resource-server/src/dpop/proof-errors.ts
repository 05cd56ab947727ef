/** The error for invalid DPoP proofs. */
import { OAuthError } from '@portcullis/protocol/protected-resource';
import { parseJsonSegment } from '../verifiers/compact-jws.ts';

/** The client learns what a proof must be like, and only the operator what was wrong with this one. */
export function invalidProof(reason: string, cause?: unknown): OAuthError {
  const description = 'The DPoP proof is missing, malformed, used before, or not made for this request.';
  return new OAuthError('invalid_dpop_proof', description, { status: 401, reason, cause });
}

/** Parses a base64url segment to a JSON object. @throws OAuthError `invalid_dpop_proof` */
export function parseProofSegment(segment: string): Readonly<Record<string, unknown>> {
  try {
    return parseJsonSegment(segment);
  } catch (cause) {
    throw invalidProof('the proof is malformed', cause);
  }
}
