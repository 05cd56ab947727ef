/** HTTP+SSE, the transport of revision 2024-11-05, as a wire: one stream from the backend, and the endpoint that it names for messages to it. */
import { parseMessage, readEvents } from '@portcullis/http';
import { BackendError } from '../backend.ts';
import { toFailure } from '../backend-errors.ts';
import type { Wire } from '../wire.ts';
import { failureOfResponse, mediaType } from './responses.ts';
import type { HttpWireOptions } from './session-wire.ts';

/** @throws BackendError when the backend does not speak it, or names an endpoint at another origin */
export async function connectSseWire(options: HttpWireOptions, milliseconds: number): Promise<Wire> {
  const { name, url, fetch, receiver } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const named = Promise.withResolvers<URL>();
  const timer = setTimeout(() => closing.abort(), milliseconds);
  try {
    const response = await fetch(url, { method: 'GET', headers: { accept: 'text/event-stream' }, signal });
    if (!response.ok || response.body === null || mediaType(response) !== 'text/event-stream') {
      await response.body?.cancel();
      throw failureOfResponse(name, response);
    }
    void follow(response.body);
    const endpoint = await named.promise;
    return {
      send: (message, own) => post(endpoint, JSON.stringify(message), own),
      close: async () => closing.abort(),
    };
  } catch (error) {
    closing.abort();
    throw toFailure(error, name);
  } finally {
    clearTimeout(timer);
  }

  async function follow(body: ReadableStream<Uint8Array>): Promise<void> {
    let reason: unknown = new Error('its event stream ended');
    try {
      for await (const { type, text } of readEvents(body, options.frame)) {
        if (type === 'endpoint') named.resolve(readEndpoint(text));
        const message = type === 'message' ? parseMessage(text) : null;
        if (message !== null) receiver.accept(message, null);
      }
    } catch (error) {
      reason = error;
    }
    const failure = toFailure(reason, name);
    named.reject(failure);
    closing.abort();
    receiver.fail(failure);
  }

  /** Messages and the credential go there. */
  function readEndpoint(text: string): URL {
    const endpoint = URL.parse(text, url.href);
    if (endpoint?.origin === url.origin && endpoint.username === '' && endpoint.password === '')
      return endpoint;
    throw new BackendError(
      'refused',
      `${name} names a message endpoint that is not at its own origin. Nothing was sent there.`,
    );
  }

  async function post(endpoint: URL, body: string, own: AbortSignal): Promise<void> {
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    const response = await fetch(endpoint, {
      method: 'POST',
      headers,
      body,
      signal: AbortSignal.any([own, signal]),
    });
    await response.body?.cancel();
    if (!response.ok) throw failureOfResponse(name, response);
  }
}
