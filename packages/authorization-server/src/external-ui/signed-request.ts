/** Requests of the external UI: signed with a shared secret (HMAC), recent, and accepted once (replay protection). */
import { createHmac, hash } from 'node:crypto';
import { type HttpRequest, readJsonBodyText } from '@portcullis/http';
import { OAuthError } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { equalInConstantTime, hashSecret } from '../secrets.ts';
import type { ExternalUiRules } from './external-ui-options.ts';

/** Seconds by which the application's clock may differ, and for which used signatures are stored. */
const WINDOW = 60;

/** `t=1800000000,n=<16 to 64 characters of base64url>,v1=<43 characters of base64url>` */
const SIGNATURE = /^t=(\d{10,11}),n=([\w-]{16,64}),v1=([\w-]{43})$/;

/** The members of a JSON object. */
export type Members = Readonly<Record<string, unknown>>;

export interface SignedRequests {
  /**
   * Verifies a request, and consumes its signature.
   * @throws OAuthError `invalid_client` for a missing or invalid signature, `invalid_request` when the body is not an object
   */
  read(request: HttpRequest): Promise<Members>;
}

export function createSignedRequests(context: ServerContext, { secrets }: ExternalUiRules): SignedRequests {
  const {
    store,
    clock,
    options: { issuer },
  } = context;

  const check = async (request: HttpRequest, body: string): Promise<void> => {
    const [, timestamp, nonce = '', signature = ''] =
      SIGNATURE.exec(request.headers.get('portcullis-signature') ?? '') ?? [];
    if (timestamp === undefined) throw invalidSignature('no signature');
    const at = Number(timestamp);
    if (Math.abs(clock() - at) > WINDOW) throw invalidSignature('the time of the signature is not now');
    const path = new URL(request.url).pathname;
    const text = signedText({ issuer, path, timestamp, nonce, body });
    if (!secrets.some((secret) => isSignedWith(secret, text, signature)))
      throw invalidSignature('a wrong signature');
    // Point of no return: the signature is used.
    const isFirst = await store.consumeClientAssertion(
      hashSecret(`external UI request ${signature}`),
      at + WINDOW + 1,
    );
    if (!isFirst) throw invalidSignature('a signature that was used before');
  };

  return {
    async read(request) {
      const { document, text } = await readJsonBodyText(request);
      await check(request, text);
      if (typeof document !== 'object' || document === null || Array.isArray(document)) {
        throw new OAuthError('invalid_request', 'The body must be a JSON object.');
      }
      return document as Members;
    },
  };
}

/** What is signed: with the issuer and the path, so that a signature is valid for one server and one endpoint. */
function signedText(about: {
  readonly issuer: string;
  readonly path: string;
  readonly timestamp: string;
  readonly nonce: string;
  readonly body: string;
}): string {
  const { issuer, path, timestamp, nonce, body } = about;
  return ['portcullis-headless-1', issuer, path, timestamp, nonce, hash('sha256', body, 'base64url')].join(
    '\n',
  );
}

/** Compared as text: the same bytes have four base64url spellings, and a used signature is stored as text. */
function isSignedWith(secret: string, text: string, signature: string): boolean {
  return equalInConstantTime(createHmac('sha256', secret).update(text).digest('base64url'), signature);
}

function invalidSignature(reason: string): OAuthError {
  const description = 'Sign the request with the shared secret, the current time and a new nonce.';
  return new OAuthError('invalid_client', description, { reason });
}
