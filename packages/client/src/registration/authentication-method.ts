/** Which client authentication method is used: what the registration says, else what the authorization server lists. */
import type { AuthorizationServerMetadata, ClientAuthenticationMethod } from '@portcullis/protocol';

/** Methods with a secret that can be used here, most usual first. */
const SECRET_METHODS: readonly ClientAuthenticationMethod[] = ['client_secret_basic', 'client_secret_post'];

const METHODS: ReadonlySet<string> = new Set(['none', 'private_key_jwt', ...SECRET_METHODS]);

/** What the choice depends on. */
export interface MethodFacts {
  /** The method that the registration's answer names. */
  readonly registered?: string | undefined;
  readonly hasSecret: boolean;
  readonly hasKey: boolean;
  /** The metadata's `token_endpoint_auth_methods_supported`. */
  readonly listed: readonly string[] | undefined;
}

/**
 * Chooses one method. `null`: the registration demands one that is not spoken here.
 * A list that is left out means `client_secret_basic`.
 * @see RFC 8414 §2, RFC 7591 §2
 */
export function chooseMethod(facts: MethodFacts): ClientAuthenticationMethod | null {
  if (facts.registered !== undefined) {
    return METHODS.has(facts.registered) ? (facts.registered as ClientAuthenticationMethod) : null;
  }
  const listed = facts.listed;
  if (facts.hasKey && (listed === undefined || listed.includes('private_key_jwt'))) return 'private_key_jwt';
  if (!facts.hasSecret) return 'none';
  if (listed === undefined) return 'client_secret_basic';
  return (
    SECRET_METHODS.find((method) => listed.includes(method)) ??
    (listed.includes('none') ? 'none' : 'client_secret_basic')
  );
}

/** The method to register with: a local client is a public one wherever it may be. @see seed 5.3(10) */
export function methodToRegister(metadata: AuthorizationServerMetadata): ClientAuthenticationMethod {
  const listed = metadata.token_endpoint_auth_methods_supported;
  if (listed === undefined || listed.includes('none')) return 'none';
  return SECRET_METHODS.find((method) => listed.includes(method)) ?? 'none';
}
