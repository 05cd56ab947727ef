/** Requests of the external UI: signed with a shared secret (HMAC), recent, and accepted once (replay protection). */
import { createHmac, hash } from 'node:crypto';
import { type HttpRequest, readJsonBodyText } from '@portcullis/http';
import { OAuthError } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { equalInConstantTime, hashSecret } from '../secrets.ts';
import type { ExternalUiRules } from './options.ts';

/** Seconds by which the application's clock may differ, and for which used signatures are stored. */
const WINDOW = 60;

/** `t=1800000000,n=<16 to 64 characters of base64url>,v1=<43 characters of base64url>` */
const SIGNATURE = /^t=(\d{10,11}),n=([\w-]{16,64}),v1=([\w-]{43})$/;

/** The members of a JSON object. */
export type Members = Readonly<Record<string, unknown>>;

/**
 * Verifies a request, and consumes its signature.
 * @throws OAuthError `invalid_client` for a missing or invalid signature, `invalid_request` when the body is not an object
 */
export async function readSignedRequest(
  { store, clock, options: { issuer } }: ServerContext,
  { secrets }: ExternalUiRules,
  request: HttpRequest,
): Promise<Members> {
  const { document, text: body } = await readJsonBodyText(request);
  const [, timestamp, nonce = '', signature = ''] =
    SIGNATURE.exec(request.headers.get('portcullis-signature') ?? '') ?? [];
  if (timestamp === undefined) throw invalidSignature('no signature');
  const at = Number(timestamp);
  if (Math.abs(clock() - at) > WINDOW) throw invalidSignature('the time of the signature is not now');
  // With the issuer and the path, so that a signature is valid for one server and one endpoint.
  const { pathname } = new URL(request.url);
  const digest = hash('sha256', body, 'base64url');
  const signed = ['portcullis-headless-1', issuer, pathname, timestamp, nonce, digest].join('\n');
  // Compared as text: the same bytes have four base64url spellings, and a used signature is stored as text.
  const isValid = secrets.some((secret) =>
    equalInConstantTime(createHmac('sha256', secret).update(signed).digest('base64url'), signature),
  );
  if (!isValid) throw invalidSignature('a wrong signature');
  // Point of no return: the signature is used.
  const key = hashSecret(`external UI request ${signature}`);
  if (!(await store.consumeClientAssertion(key, at + WINDOW + 1)))
    throw invalidSignature('a signature that was used before');
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new OAuthError('invalid_request', 'The body must be a JSON object.');
  return document as Members;
}

function invalidSignature(reason: string): OAuthError {
  const description = 'Sign the request with the shared secret, the current time and a new nonce.';
  return new OAuthError('invalid_client', description, { reason });
}
