/** Client authentication at identity providers: the table of methods, in the form that `oauth4webapi` uses. */
import * as oauth from 'oauth4webapi';
import { type ProviderClientKey, signAssertion } from './client-key.ts';

/** Methods by their registered names; `signed_secret` is Apple's. */
export type ProviderClientAuthentication =
  | 'none'
  | 'client_secret_basic'
  | 'client_secret_post'
  | 'private_key_jwt'
  | 'signed_secret';

/** Our client at an identity provider, and its credentials. */
interface ClientCredentials {
  readonly clientId: string;
  readonly clientSecret: string | null;
  readonly clientKey: ProviderClientKey | null;
  readonly provider: { readonly issuer: string };
}

type Authenticate = (identityProvider: ClientCredentials, clock: () => number) => oauth.ClientAuth;

/** The credential that a method needs. */
type Credential = 'nothing' | 'secret' | 'key';

export const providerClientAuthentications: Readonly<
  Record<
    ProviderClientAuthentication,
    { readonly credential: Credential; readonly authenticate: Authenticate }
  >
> = {
  none: { credential: 'nothing', authenticate: () => oauth.None() },
  client_secret_basic: {
    credential: 'secret',
    authenticate: ({ clientSecret }) => oauth.ClientSecretBasic(clientSecret ?? ''),
  },
  client_secret_post: {
    credential: 'secret',
    authenticate: ({ clientSecret }) => oauth.ClientSecretPost(clientSecret ?? ''),
  },
  /** @see RFC 7523 §2.2 */
  private_key_jwt: {
    credential: 'key',
    authenticate: (identityProvider, clock) =>
      withAssertion(identityProvider, clock, {
        name: 'client_assertion',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      }),
  },
  /** @see https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret */
  signed_secret: {
    credential: 'key',
    authenticate: (identityProvider, clock) =>
      withAssertion(identityProvider, clock, { name: 'client_secret' }),
  },
};

/** @param name the parameter of the assertion; the other members are further parameters */
function withAssertion(
  { clientId, clientKey, provider }: ClientCredentials,
  clock: () => number,
  { name, ...parameters }: Readonly<Record<string, string>> & { readonly name: string },
): oauth.ClientAuth {
  return async (_server, _client, body) => {
    const assertion = await signAssertion(keyOf(clientKey), clientId, provider.issuer, clock());
    body.set('client_id', clientId);
    for (const [parameter, value] of Object.entries({ ...parameters, [name]: assertion }))
      body.set(parameter, value);
  };
}

/** Validation ensures that methods with a key have one. */
function keyOf(key: ProviderClientKey | null): ProviderClientKey {
  if (key === null) throw new TypeError('the client key is missing');
  return key;
}
