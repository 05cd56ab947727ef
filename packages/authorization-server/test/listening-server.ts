/** An authorization server on a local port, for real browsers: with a store in memory, and Ada's account. */
import { listen } from '@portcullis/http/node';
import { openEmptyStore } from '../../../tests/support/migrated-store.ts';
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  createAuthorizationServer,
} from '../src/index.ts';
import type { AuthorizationStore } from '../src/store/index.ts';
import { EMAIL, PASSWORD } from './visitor.ts';

type Handle = AuthorizationServer['handleHttp'];

export interface ListeningServer {
  readonly issuer: string;
  readonly server: AuthorizationServer;
  readonly store: AuthorizationStore;
  close(): Promise<void>;
}

type Wanted = Pick<AuthorizationServerOptions, 'resources'> & Partial<AuthorizationServerOptions>;

/**
 * @param options by the issuer, which is known once there is a port
 * @param more whether an account exists already (`bootstrap`), and a wrapper of the handler
 */
export async function startListening(
  options: (issuer: string) => Wanted,
  more: { readonly bootstrap?: boolean; readonly middleware?: (handle: Handle) => Handle } = {},
): Promise<ListeningServer> {
  const { bootstrap = true, middleware = (handle) => handle } = more;
  const store = await openEmptyStore();
  let handle: Handle | undefined;
  const listening = await listen(
    (request, connection) => handle?.(request, connection) ?? Promise.reject(new Error('too early')),
    { port: 0, host: 'localhost' },
  );
  const issuer = `http://localhost:${listening.port}`;
  const masterKey = new Uint8Array(32).fill(7);
  const server = await createAuthorizationServer({ issuer, store, masterKey, ...options(issuer) });
  if (bootstrap) await server.bootstrap(EMAIL, PASSWORD);
  handle = middleware(server.handleHttp);
  const close = async () => {
    await listening.close(0);
    await server.close();
    await store.close();
  };
  return { issuer, server, store, close };
}

/** Hides the browsers' network address, so that many tests in a row are not rate-limited as one client. */
export const withoutAddress =
  (handle: Handle): Handle =>
  (request) =>
    handle(request);
