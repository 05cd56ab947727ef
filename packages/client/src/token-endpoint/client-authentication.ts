/** Client authentication: one table entry per method, and never two methods in one request. */
import { basicCredentials, type ClientAuthenticationMethod } from '@portcullis/protocol';
import { ClientError } from '../errors.ts';
import { signClientJwt } from '../signing-key.ts';
import type { Registration } from '../storage/credentials.ts';
import type { ClientContext } from './client-context.ts';

/** Form parameters and headers that authenticate a request. */
interface ClientCredentials {
  readonly parameters: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

type Authenticate = (
  registration: Registration,
  issuer: string,
  context: ClientContext,
) => Promise<ClientCredentials>;

const METHODS: Readonly<Record<ClientAuthenticationMethod, Authenticate>> = {
  none: async ({ clientId }) => ({ parameters: { client_id: clientId }, headers: {} }),
  client_secret_post: async (registration) => ({
    parameters: { client_id: registration.clientId, client_secret: requireSecret(registration) },
    headers: {},
  }),
  client_secret_basic: async (registration) => ({
    parameters: {},
    headers: { authorization: basicCredentials(registration.clientId, requireSecret(registration)) },
  }),
  private_key_jwt: clientAssertion,
};

/**
 * Creates the credentials for the authentication method of the registration.
 * @param issuer the validated issuer of the authorization server: the only audience of an assertion
 */
export function clientCredentials(
  registration: Registration,
  issuer: string,
  context: ClientContext,
): Promise<ClientCredentials> {
  return METHODS[registration.authentication](registration, issuer, context);
}

/** The assertion is valid for one minute and has a single audience. @see RFC 7523 §2.2 and §3, RFC 7523bis */
async function clientAssertion(
  { clientId }: Registration,
  issuer: string,
  { signingKeyFor, clock }: ClientContext,
): Promise<ClientCredentials> {
  const signingKey = signingKeyFor(clientId, issuer);
  if (signingKey === null) {
    throw new ClientError(
      'configuration_invalid',
      'The client is registered for private_key_jwt: configure its signing key.',
    );
  }
  const now = Math.floor(clock() / 1000);
  const header = { typ: 'JWT', ...(signingKey.keyId !== undefined && { kid: signingKey.keyId }) };
  const claims = {
    iss: clientId,
    sub: clientId,
    aud: issuer,
    iat: now,
    exp: now + 60,
    jti: crypto.randomUUID(),
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

function requireSecret({ clientSecret }: Registration): string {
  if (clientSecret === null) {
    throw new ClientError('configuration_invalid', 'The client is registered with a secret: configure it.');
  }
  return clientSecret;
}
