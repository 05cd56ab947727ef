/** An ear on this computer alone, open for one answer: 127.0.0.1, closed as soon as the answer is there. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type {
  ReceivedRedirect,
  Receiver,
  RedirectListener,
  SignInOutcome,
} from '../authorization/receiver.ts';
import { ClientError } from '../errors.ts';
import { RESULT_PAGE_HEADERS, resultPage } from './result-page.ts';

/** Where on this computer the answer is received, and for how long. */
export interface LoopbackOptions {
  /** Path of the redirect URI; `/callback` by default. */
  readonly path?: string;
  /** Port of the redirect URI; by default one that is registered already, else any that is free. */
  readonly port?: number;
  /** Milliseconds that a person may take; ten minutes by default. */
  readonly timeout?: number;
}

const TEN_MINUTES = 600_000;

const FOREIGN: SignInOutcome = {
  ok: false,
  message: 'This address belongs to no sign-in that is waiting. Go back and start again.',
};

/**
 * Makes a receiver for a program on the person's computer.
 * @see RFC 8252 §7.3 and §8.3
 */
export function createLoopbackReceiver(options: LoopbackOptions = {}): Receiver {
  const path = options.path ?? '/callback';
  return {
    async listen(preferred) {
      const wanted =
        options.port === undefined ? registeredPlaces(preferred) : [{ port: options.port, path }];
      for (const place of [...wanted, { port: 0, path }]) {
        const server = createServer({ requestTimeout: 5_000, headersTimeout: 5_000, maxHeaderSize: 16_384 });
        if (await tryToListen(server, place.port)) {
          return receive(server, place.path, options.timeout ?? TEN_MINUTES);
        }
        if (options.port !== undefined) break;
      }
      throw new ClientError(
        'configuration_invalid',
        `Port ${options.port ?? ''} of this computer is taken, and the answer to the sign-in has to arrive there.`,
      );
    },
  };
}

/** Ports and paths of registered URIs that can be served here. */
function registeredPlaces(uris: readonly string[]): readonly { port: number; path: string }[] {
  return uris.flatMap((uri) => {
    const url = URL.parse(uri);
    if (url === null || url.protocol !== 'http:' || url.hostname !== '127.0.0.1' || url.port === '')
      return [];
    return [{ port: Number(url.port), path: url.pathname }];
  });
}

function tryToListen(server: Server, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => resolve(true));
  });
}

function receive(server: Server, path: string, patience: number): RedirectListener {
  const { port } = server.address() as AddressInfo;
  const host = `127.0.0.1:${port}`;
  let expected: string | null = null;
  const { promise, resolve, reject } = Promise.withResolvers<ReceivedRedirect>();
  promise.catch(() => undefined);

  const giveUp = setTimeout(() => {
    reject(new ClientError('cancelled', 'Nobody finished the sign-in in time. Start it again.'));
  }, patience);

  server.on('request', (request, response) => {
    const query = readAnswer(request, host, path);
    const state = query?.getAll('state') ?? [];
    // Never accepted without the state of the flow that waits here.
    if (query === null || expected === null || state.length !== 1 || state[0] !== expected) {
      respond(response, query === null ? 404 : 400, FOREIGN);
      return;
    }
    expected = null;
    // Point of no return: one answer, and the ear closes.
    server.close();
    resolve({ query, respond: (outcome) => respond(response, outcome.ok ? 200 : 400, outcome) });
  });

  return {
    redirectUri: `http://${host}${path}`,
    waitForRedirect(state) {
      expected = state;
      return promise;
    },
    async close() {
      clearTimeout(giveUp);
      reject(new ClientError('cancelled', 'The sign-in was given up.'));
      server.close();
      server.closeIdleConnections();
    },
  };
}

/** The query of a request that a browser could have been redirected with; `null` for anything else. */
function readAnswer(request: IncomingMessage, host: string, path: string): URLSearchParams | null {
  if (request.method !== 'GET' || request.headers.host !== host) return null;
  const url = URL.parse(`http://${host}${request.url ?? ''}`);
  return url !== null && url.pathname === path ? url.searchParams : null;
}

function respond(response: ServerResponse, status: number, outcome: SignInOutcome): Promise<void> {
  return new Promise((resolve) => {
    response.once('close', resolve);
    response.writeHead(status, RESULT_PAGE_HEADERS).end(resultPage(outcome), () => resolve());
  });
}
