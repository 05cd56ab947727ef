/** A receiver on 127.0.0.1: listens for one redirect and closes as soon as it has arrived. */
import { randomBytes } from 'node:crypto';
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

/** Where the redirect is received, and for how long. */
export interface LoopbackOptions {
  /** Path of the redirect URI; `/callback` by default. */
  readonly path?: string;
  /** Port of the redirect URI; by default one that is already registered, else any free port. */
  readonly port?: number;
  /** Milliseconds for the user to sign in; ten minutes by default. */
  readonly timeout?: number;
}

const TEN_MINUTES = 600_000;

const UNEXPECTED: SignInOutcome = {
  ok: false,
  message: 'No sign-in is waiting for this redirect. Go back and start again.',
};

const USED: SignInOutcome = {
  ok: false,
  message:
    'This address was opened before. If that was not you, another user of this computer may be signing in: cancel the sign-in in the application, and start again.',
};

/** A short address. `used`: it worked once, and no longer does. */
interface ShortAddress {
  readonly target: string;
  readonly once: boolean;
  readonly used: boolean;
}

/**
 * Creates a receiver for a program on the user's computer.
 * @see RFC 8252 §7.3 and §8.3
 */
export function createLoopbackReceiver(options: LoopbackOptions = {}): Receiver {
  const path = options.path ?? '/callback';
  return {
    async listen(preferred) {
      const wanted =
        options.port === undefined ? registeredEndpoints(preferred) : [{ port: options.port, path }];
      for (const candidate of [...wanted, { port: 0, path }]) {
        const server = createServer({ requestTimeout: 5_000, headersTimeout: 5_000, maxHeaderSize: 16_384 });
        if (await tryToListen(server, candidate.port)) {
          return receive(server, candidate.path, options.timeout ?? TEN_MINUTES);
        }
        if (options.port !== undefined) break;
      }
      const message = `Port ${options.port ?? ''} is in use, and the redirect of the sign-in has to arrive there.`;
      throw new ClientError('configuration_invalid', message);
    },
  };
}

/** Ports and paths of registered URIs that can be used. */
function registeredEndpoints(uris: readonly string[]): readonly { port: number; path: string }[] {
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

function receive(server: Server, path: string, timeout: number): RedirectListener {
  const { port } = server.address() as AddressInfo;
  const host = `127.0.0.1:${port}`;
  let expected: string | null = null;
  /** Short addresses by their paths. Other users of this computer must not find a target: it contains the state. */
  const shortAddresses = new Map<string, ShortAddress>();
  const { promise, resolve, reject } = Promise.withResolvers<ReceivedRedirect>();
  promise.catch(() => undefined);

  const timer = setTimeout(() => {
    reject(
      new ClientError('cancelled', 'The sign-in in the browser was not completed in time. Start again.'),
    );
  }, timeout);

  server.on('request', (request, response) => {
    const short = isRequestOf(request, host) ? shortAddresses.get(request.url ?? '') : undefined;
    if (short !== undefined) {
      shortAddresses.set(request.url ?? '', { ...short, used: short.once });
      if (short.used) respond(response, 404, USED);
      else response.writeHead(302, { location: short.target, 'cache-control': 'no-store' }).end();
      return;
    }
    const query = readRedirect(request, host, path);
    const state = query?.getAll('state') ?? [];
    // Never accepted without the state of the pending authorization (CSRF).
    if (query === null || expected === null || state.length !== 1 || state[0] !== expected) {
      respond(response, query === null ? 404 : 400, UNEXPECTED);
      return;
    }
    expected = null;
    // Point of no return: one redirect, and the listener closes.
    server.close();
    resolve({ query, respond: (outcome) => respond(response, outcome.ok ? 200 : 400, outcome) });
  });

  return {
    redirectUri: `http://${host}${path}`,
    waitForRedirect(state) {
      expected = state;
      return promise;
    },
    shorten(target, once = false) {
      const shortPath = `/${randomBytes(9).toString('base64url')}`;
      shortAddresses.set(shortPath, { target, once, used: false });
      return `http://${host}${shortPath}`;
    },
    async close() {
      clearTimeout(timer);
      reject(new ClientError('cancelled', 'The sign-in was cancelled.'));
      server.close();
      // Also those without a whole request, which would delay the end of the program. Responses have been sent.
      server.closeAllConnections();
    },
  };
}

/** Whether the browser requests this listener by its own name (DNS rebinding). */
function isRequestOf({ method, headers }: IncomingMessage, host: string): boolean {
  return method === 'GET' && headers.host === host;
}

/** The query of a request that can be the browser's redirect; `null` for anything else. */
function readRedirect(request: IncomingMessage, host: string, path: string): URLSearchParams | null {
  if (!isRequestOf(request, host)) return null;
  const url = URL.parse(`http://${host}${request.url ?? ''}`);
  return url !== null && url.pathname === path ? url.searchParams : null;
}

function respond(response: ServerResponse, status: number, outcome: SignInOutcome): Promise<void> {
  // The user has closed the page: neither `close` nor the callback of `end` would follow.
  if (response.closed) return Promise.resolve();
  return new Promise((resolve) => {
    response.once('close', resolve);
    response.writeHead(status, RESULT_PAGE_HEADERS).end(resultPage(outcome), () => resolve());
  });
}
