/** The choice of the client authentication method: from the registration, else from the server's metadata. */
import type { AuthorizationServerMetadata, ClientAuthenticationMethod } from '@portcullis/protocol';

/** Supported methods with a secret, the most common first. */
const SECRET_METHODS: readonly ClientAuthenticationMethod[] = ['client_secret_basic', 'client_secret_post'];

const METHODS: ReadonlySet<string> = new Set(['none', 'private_key_jwt', ...SECRET_METHODS]);

/** Input of the choice. */
interface MethodInput {
  /** The method named by the registration. */
  readonly registered?: string | undefined;
  readonly hasSecret: boolean;
  readonly hasKey: boolean;
  /** The metadata's `token_endpoint_auth_methods_supported`. */
  readonly listed: readonly string[] | undefined;
}

/**
 * Chooses one method. `null`: the registration requires an unsupported one.
 * An omitted list means `client_secret_basic`.
 * @see RFC 8414 §2, RFC 7591 §2
 */
export function chooseMethod(input: MethodInput): ClientAuthenticationMethod | null {
  const { registered, hasSecret, hasKey, listed } = input;
  if (registered !== undefined)
    return METHODS.has(registered) ? (registered as ClientAuthenticationMethod) : null;
  if (hasKey && (listed === undefined || listed.includes('private_key_jwt'))) return 'private_key_jwt';
  if (!hasSecret) return 'none';
  if (listed === undefined) return 'client_secret_basic';
  return (
    SECRET_METHODS.find((method) => listed.includes(method)) ??
    (listed.includes('none') ? 'none' : 'client_secret_basic')
  );
}

/** The method to register with: a local client is a public client wherever possible. @see RFC 8252 §8.4, seed 5.3(10) */
export function methodToRegister(metadata: AuthorizationServerMetadata): ClientAuthenticationMethod {
  const listed = metadata.token_endpoint_auth_methods_supported;
  if (listed === undefined || listed.includes('none')) return 'none';
  return SECRET_METHODS.find((method) => listed.includes(method)) ?? 'none';
}
