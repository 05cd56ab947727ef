/** How the client proves itself at the token endpoint: a table with one entry a method, and never two methods at once. */
import type { ClientAuthenticationMethod } from '@portcullis/protocol';
import { ClientError } from '../errors.ts';
import type { Registration } from '../registration/registration.ts';
import { type ClientSigningKey, signClientJwt } from '../signing-key.ts';

/** What a proof is made for. */
export interface ClientAuthenticationContext {
  /** The validated issuer of the authorization server: the only audience of an assertion. */
  readonly issuer: string;
  readonly signingKey: ClientSigningKey | null;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly identifier: () => string;
}

/** What is added to a request: form parameters, and headers. */
interface Proof {
  readonly parameters: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

type ProveBy = (registration: Registration, context: ClientAuthenticationContext) => Promise<Proof>;

const PROVERS: Readonly<Record<ClientAuthenticationMethod, ProveBy>> = {
  none: async ({ clientId }) => ({ parameters: { client_id: clientId }, headers: {} }),
  client_secret_post: async (registration) => ({
    parameters: { client_id: registration.clientId, client_secret: secretOf(registration) },
    headers: {},
  }),
  client_secret_basic: async (registration) => ({
    parameters: {},
    headers: { authorization: basic(registration.clientId, secretOf(registration)) },
  }),
  private_key_jwt: proveByKey,
};

/** Makes the proof that the registration's method asks for. */
export function authenticateToServer(
  registration: Registration,
  context: ClientAuthenticationContext,
): Promise<Proof> {
  return PROVERS[registration.authentication](registration, context);
}

/** The assertion lives for one minute and names one audience. @see RFC 7523 §2.2 and §3, RFC 7523bis */
async function proveByKey({ clientId }: Registration, context: ClientAuthenticationContext): Promise<Proof> {
  const { signingKey, issuer } = context;
  if (signingKey === null) {
    throw new ClientError(
      'configuration_invalid',
      'The client is registered for private_key_jwt: configure its signing key.',
    );
  }
  const now = Math.floor(context.clock() / 1000);
  const header = { typ: 'JWT', ...(signingKey.keyId !== undefined && { kid: signingKey.keyId }) };
  const claims = {
    iss: clientId,
    sub: clientId,
    aud: issuer,
    iat: now,
    exp: now + 60,
    jti: context.identifier(),
  };
  return {
    parameters: {
      client_id: clientId,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await signClientJwt(signingKey, header, claims),
    },
    headers: {},
  };
}

/** Identifier and secret are form-encoded before they are joined. @see OAuth 2.1 draft 13 §2.4.1 */
function basic(clientId: string, secret: string): string {
  return `Basic ${btoa(`${formEncode(clientId)}:${formEncode(secret)}`)}`;
}

function formEncode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

function secretOf({ clientSecret }: Registration): string {
  if (clientSecret === null) {
    throw new ClientError('configuration_invalid', 'The client is registered with a secret: configure it.');
  }
  return clientSecret;
}
