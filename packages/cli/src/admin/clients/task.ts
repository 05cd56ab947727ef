/** Types shared by the `clients` subcommands. */
import type { ClientAdministration } from '@portcullis/authorization-server';
import type { WorkloadIdentity } from '@portcullis/protocol';
import type { ProcessContext } from '../../process-context.ts';
import type { SettingName, Settings } from '../../settings/schema.ts';

export type Flags = Readonly<Partial<Record<SettingName, string>>> & {
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
};

export interface Task {
  readonly clients: ClientAdministration;
  readonly settings: Settings;
  readonly flags: Flags;
  /** The client ID argument; empty if the subcommand has none. */
  readonly id: string;
  readonly processContext: ProcessContext;
}

/** Runs a subcommand. @returns its output */
export type Act = (task: Task) => Promise<string>;
