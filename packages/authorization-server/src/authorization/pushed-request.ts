/** Pushed authorization requests: encrypted into their `request_uri`, so that nothing is stored before a user opens one. */
import { OAuthError, type Parameters, readParameters } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { createEncryptedJson } from '../encryption/encrypted-json.ts';
import { hashSecret, newSecret } from '../secrets.ts';

/** @see RFC 9126 §2.2 */
const URN = 'urn:ietf:params:oauth:request_uri:';

/** Part of each ciphertext, so that no other can replace it. */
const CONTEXT = 'pushed authorization request';

/** Octets of the parameters: the URL that refers to them must fit into a header. */
const MAX_OCTETS = 4096;

/** A request as it was pushed. */
interface PushedRequest {
  readonly clientId: string;
  readonly parameters: Parameters;
  /**
   * Marks it as used. A request is accepted once, by all processes.
   * @throws OAuthError `invalid_request_uri`
   */
  consume(): Promise<void>;
}

export type PushedRequests = ReturnType<typeof createPushedRequests>;

/** What the ciphertext contains. */
interface Content {
  readonly client: string;
  readonly query: string;
  /** Epoch seconds. */
  readonly until: number;
  readonly id: string;
}

/** @see RFC 9126 §2.2, §4 and §7.1: unguessable, bound to the client, short-lived and for one use */
export function createPushedRequests({ store, clock, options, encryptor }: ServerContext) {
  const contents = createEncryptedJson<Content>(encryptor, CONTEXT, Number.POSITIVE_INFINITY);

  return {
    /** Whether a `request_uri` has the form of ours. */
    isOwn: (requestUri: string): boolean => requestUri.startsWith(URN),

    /**
     * @param pairs names and values; `client_id` among them
     * @throws OAuthError `invalid_request` if they are too long
     */
    write(clientId: string, pairs: [string, string][]): string {
      const query = new URLSearchParams(pairs).toString();
      if (query.length > MAX_OCTETS) {
        const description = `The request is too long: its parameters may have ${MAX_OCTETS} octets together.`;
        throw new OAuthError('invalid_request', description, { status: 413 });
      }
      const until = clock() + options.lifetimes.transaction;
      return URN + contents.encrypt({ client: clientId, query, until, id: newSecret() });
    },

    /** @throws OAuthError `invalid_request_uri` if it has expired, or was not issued by this server */
    read(requestUri: string): PushedRequest {
      const content = contents.decrypt(requestUri.slice(URN.length));
      if (content === null) throw unusable('not issued by this server');
      const { client, query, until, id } = content;
      if (until <= clock()) throw unusable('expired');
      return {
        clientId: client,
        parameters: readParameters(query),
        async consume() {
          // Point of no return: the request is used.
          if (!(await store.consumeClientAssertion(`par:${hashSecret(id)}`, until)))
            throw unusable('used before');
        },
      };
    },
  };
}

function unusable(reason: string): OAuthError {
  return new OAuthError(
    'invalid_request_uri',
    'The request_uri has expired, was used before, or is unknown. Push the request again.',
    { reason: `request_uri: ${reason}` },
  );
}
