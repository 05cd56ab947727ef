/** Opens the credential store, terminal and client of a command, and closes them when it ends. */
import { setTimeout } from 'node:timers/promises';
import { type Client, ClientError } from '@portcullis/client';
import {
  createNodeClient,
  type FileStore,
  type NodeClientOptions,
  openCredentialStore,
} from '@portcullis/client/node';
import type { ProcessContext } from '../process-context.ts';
import { cleanLine } from '../terminal/clean.ts';
import { createTerminal, type Terminal } from '../terminal/terminal.ts';
import { clientOptions, quietOptions } from './client-options.ts';
import { credentialsPath } from './credentials-path.ts';
import { exitAtSignal } from './exit-at-signal.ts';
import { CommandFailure, exitCodes } from './exit-codes.ts';
import type { ClientFlags, ProgramFlags, SignInFlags } from './flags.ts';
import { signInCommand } from './sign-in-command.ts';
import { createMessageEndpoint } from './transport/message-endpoint.ts';

/** Dependencies of a client command. */
export interface OpenClient {
  readonly client: Client;
  readonly terminal: Terminal;
  /** Allows the token to be sent to the message endpoint of an HTTP+SSE server. */
  readonly acceptEndpoint: (endpoint: URL) => void;
}

/** Milliseconds that a refresh under way has to save its tokens when the command is interrupted. */
const SETTLE_TIMEOUT = 2500;

/** Runs a function with the open credential store. */
export async function withCredentialStore<T>(
  flags: Pick<ClientFlags, 'credentials'>,
  processContext: ProcessContext,
  act: (store: FileStore, terminal: Terminal) => Promise<T>,
): Promise<T> {
  const { streams, environment, folder } = processContext;
  process.umask(0o077);
  const terminal = createTerminal(streams, environment);
  try {
    const store = await openCredentialStore(credentialsPath(flags.credentials, environment, folder));
    const interruption = new AbortController();
    // A refresh that ends later could not save its tokens, and the refresh token that it used may be invalid.
    const removeListeners = exitAtSignal(async () => {
      interruption.abort();
      await Promise.race([store.settled(), setTimeout(SETTLE_TIMEOUT)]);
      store.close();
    });
    try {
      return await act(haltingAfter(interruption.signal, store), terminal);
    } finally {
      await store.settled();
      removeListeners();
      store.close();
    }
  } finally {
    terminal.close();
  }
}

/** A store with which a command that was interrupted during a refresh does not go on: it sends no request with the new tokens. */
function haltingAfter(interruption: AbortSignal, store: FileStore): FileStore {
  return {
    ...store,
    async lock(name) {
      const unlock = await store.lock(name);
      return async () => {
        await unlock();
        if (interruption.aborted) await new Promise(() => undefined);
      };
    },
  };
}

/** Runs a function with a client that signs the user in according to the flags. */
export function withClient<T>(
  serverUrl: string,
  flags: SignInFlags,
  processContext: ProcessContext,
  act: (opened: OpenClient) => Promise<T>,
  more: Partial<NodeClientOptions> = {},
): Promise<T> {
  return withCredentialStore(flags, processContext, async (store, terminal) => {
    const { isCurrent: sendTokenTo, accept: acceptEndpoint } = createMessageEndpoint();
    const options = await clientOptions(serverUrl, flags, processContext, terminal);
    const registration = { ...options.registration, ...more.registration };
    const client = createNodeClient({ sendTokenTo, ...options, store, ...more, registration });
    try {
      return await act({ client, terminal, acceptEndpoint });
    } catch (error) {
      throw await explainScopes(error, flags, client);
    }
  });
}

/** Names the scopes of --scope that the server does not have, as its metadata lists them; any other error is unchanged. */
async function explainScopes(error: unknown, { scope = [] }: SignInFlags, client: Client): Promise<unknown> {
  if (!(error instanceof ClientError) || error.oauthError !== 'invalid_scope') return error;
  const found = await client.discover().catch(() => null);
  const { scopes_supported: supported = [] } = found?.resourceMetadata ?? {};
  const unknown = scope.filter((one) => !supported.includes(one));
  if (supported.length === 0 || unknown.length === 0) return error;
  const names = (scopes: readonly string[]) => scopes.map(cleanLine).join(', ');
  return new CommandFailure(
    exitCodes.signIn,
    `This server has no scope ${names(unknown)}. Its scopes: ${names(supported)}`,
  );
}

/** Runs a function with a client without user interaction. */
export function withQuietClient<T>(
  serverUrl: string,
  flags: ProgramFlags,
  processContext: ProcessContext,
  act: (opened: Omit<OpenClient, 'acceptEndpoint'>) => Promise<T>,
): Promise<T> {
  return withCredentialStore(flags, processContext, async (store, terminal) => {
    const options = await quietOptions(serverUrl, flags, processContext);
    return act({ client: createNodeClient({ ...options, store }), terminal });
  });
}

/** The error of a command that requires a session: ClientError `sign_in_needed`. */
export function signInNeeded(
  serverUrl: string,
  account: string,
  { command }: Pick<ProcessContext, 'command'>,
): ClientError {
  return new ClientError(
    'sign_in_needed',
    `There is no session. Sign in: ${signInCommand(serverUrl, account, command)}`,
  );
}
