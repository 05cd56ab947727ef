/** Failures before there was a connection: nothing has been sent, and the address counts as down. */
import { isMembers } from '@portcullis/http';

const UNSENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'EACCES',
  'EPERM',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** The code of the failure, also of its cause; `null` if there may have been a connection. */
export function connectionFailure(error: unknown): string | null {
  if (!isMembers(error)) return null;
  const { code, cause } = error;
  if (typeof code === 'string' && UNSENT.has(code)) return code;
  return cause === undefined ? null : connectionFailure(cause);
}
