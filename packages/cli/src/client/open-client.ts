/** A client lent to a command, with its terminal and the store of its credentials, and closed behind it. */
import { type Client, ClientError } from '@portcullis/client';
import {
  createNodeClient,
  type FileStore,
  type NodeClientOptions,
  openCredentialStore,
} from '@portcullis/client/node';
import type { ProcessContext } from '../process-context.ts';
import { createTerminal, type Terminal } from '../terminal/terminal.ts';
import { clientOptions, quietOptions } from './client-options.ts';
import { credentialsPlace } from './credentials-place.ts';
import { signInCommand } from './exit-codes.ts';
import type { ClientFlags, ProgramFlags, SignInFlags } from './flags.ts';

/** What a command of the client works with. */
export interface ClientCase {
  readonly client: Client;
  readonly terminal: Terminal;
}

/** Lends the store of the credentials, and closes it. */
export async function withCredentialStore<T>(
  flags: Pick<ClientFlags, 'credentials'>,
  processContext: ProcessContext,
  act: (store: FileStore, terminal: Terminal) => Promise<T>,
): Promise<T> {
  const { streams, environment, folder } = processContext;
  process.umask(0o077);
  const terminal = createTerminal(streams, environment);
  try {
    const store = await openCredentialStore(credentialsPlace(flags.credentials, environment, folder));
    try {
      return await act(store, terminal);
    } finally {
      store.close();
    }
  } finally {
    terminal.close();
  }
}

/** Lends a client that signs the person in as the options say. */
export function withClient<T>(
  serverUrl: string,
  flags: SignInFlags,
  processContext: ProcessContext,
  act: (situation: ClientCase) => Promise<T>,
  more: Partial<NodeClientOptions> = {},
): Promise<T> {
  return withCredentialStore(flags, processContext, async (store, terminal) => {
    const options = await clientOptions(serverUrl, flags, processContext, terminal);
    return act({ client: createNodeClient({ ...options, store, ...more }), terminal });
  });
}

/** Lends a client that never asks anybody. */
export function withQuietClient<T>(
  serverUrl: string,
  flags: ProgramFlags,
  processContext: ProcessContext,
  act: (situation: ClientCase) => Promise<T>,
): Promise<T> {
  return withCredentialStore(flags, processContext, async (store, terminal) => {
    const options = await quietOptions(serverUrl, flags, processContext);
    return act({ client: createNodeClient({ ...options, store }), terminal });
  });
}

/** What ends a command that needs a session and has none: ClientError `sign_in_needed`. */
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
