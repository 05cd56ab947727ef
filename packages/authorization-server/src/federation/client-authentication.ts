/** How this server proves itself at a third party: a table of ways, as `oauth4webapi` sends them. */
import * as oauth from 'oauth4webapi';
import { type ProviderClientKey, signAssertion } from './client-key.ts';

/** The ways, by the names under which they are registered; `signed_secret` is Apple's. */
export type ProviderClientAuthentication =
  | 'none'
  | 'client_secret_basic'
  | 'client_secret_post'
  | 'private_key_jwt'
  | 'signed_secret';

/** What is proven there: who this server is to a third party, and by what. */
interface ClientThere {
  readonly clientId: string;
  readonly clientSecret: string | null;
  readonly clientKey: ProviderClientKey | null;
  readonly provider: { readonly issuer: string };
}

type Prove = (identityProvider: ClientThere, clock: () => number) => oauth.ClientAuth;

/** What proves: nothing, a secret, or a key. */
type Means = 'nothing' | 'secret' | 'key';

export const providerClientAuthentications: Readonly<
  Record<ProviderClientAuthentication, { readonly by: Means; readonly prove: Prove }>
> = {
  none: { by: 'nothing', prove: () => oauth.None() },
  client_secret_basic: {
    by: 'secret',
    prove: ({ clientSecret }) => oauth.ClientSecretBasic(clientSecret ?? ''),
  },
  client_secret_post: {
    by: 'secret',
    prove: ({ clientSecret }) => oauth.ClientSecretPost(clientSecret ?? ''),
  },
  /** @see RFC 7523 §2.2 */
  private_key_jwt: {
    by: 'key',
    prove: (identityProvider, clock) =>
      withAssertion(identityProvider, clock, {
        name: 'client_assertion',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      }),
  },
  /** @see https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret */
  signed_secret: {
    by: 'key',
    prove: (identityProvider, clock) => withAssertion(identityProvider, clock, { name: 'client_secret' }),
  },
};

/** @param name the parameter that carries the assertion; other members are parameters beside it */
function withAssertion(
  { clientId, clientKey, provider }: ClientThere,
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

/** The judgement lets no way by key be without one. */
function keyOf(key: ProviderClientKey | null): ProviderClientKey {
  if (key === null) throw new TypeError('a third party is to be shown a key that there is not');
  return key;
}
