/** Runs a request that may fail at a server, and returns its value or the ClientError that explains the failure. */
import { ClientError } from '@portcullis/client';
import { toClientError } from '@portcullis/client/node';

export type Attempt<T> = { readonly value: T } | { readonly failure: ClientError };

/** @throws any error not caused by the server or the network */
export async function attempt<T>(work: () => Promise<T>): Promise<Attempt<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

/** Explains an error. An error thrown by `fetch` itself means that the server could not be reached. */
export function failureOf(error: unknown): ClientError {
  if (speaksNoTls(error)) {
    return new ClientError(
      'unreachable',
      'The server does not speak https at this address. It may speak plain http there.',
      { cause: error },
    );
  }
  if (error instanceof ClientError) return error;
  const explained = toClientError(error, 'The server');
  if (explained !== null) return explained;
  const isNetwork =
    error instanceof TypeError || (error instanceof DOMException && error.name === 'TimeoutError');
  if (!isNetwork) throw error;
  return new ClientError('unreachable', 'The server could not be reached.', { cause: error });
}

/** The response was not a TLS record: usually the server answered in plain HTTP. */
function speaksNoTls(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause ? String(cause.code) : '';
    if (code === 'EPROTO' || /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/.test(code))
      return true;
  }
  return false;
}
