/** What the `clients` subcommands work with. */
import { createClientAdministration } from '@portcullis/authorization-server';
import { createRedirectPolicy } from '@portcullis/authorization-server/options';
import type { WorkloadIdentity } from '@portcullis/protocol';
import type { StoreTask } from '../store-commands.ts';
import { issuerOf } from '../with-store.ts';

export interface Flags {
  readonly json?: true;
  readonly id?: string;
  readonly clientName?: string;
  readonly redirectUri?: readonly string[];
  readonly grant?: readonly string[];
  readonly scope?: string;
  readonly method?: string;
  readonly workload?: WorkloadIdentity;
  readonly metadata?: string;
  readonly secretFile?: string;
  /** Seconds. */
  readonly overlap?: number;
}

/** `id`: the client ID argument; empty if the subcommand has none. */
export function taskOf(task: StoreTask<Flags>) {
  const { settings, args } = task;
  const issuer = issuerOf(settings);
  const redirects = createRedirectPolicy(settings.privateUseSchemes, issuer);
  const configured = new Set(settings.clients.map(({ client_id: known }) => String(known)));
  const clients = createClientAdministration({ ...task, issuer, redirects, clients: configured });
  return { ...task, clients, id: args[0] ?? '' };
}

export type Task = ReturnType<typeof taskOf>;
