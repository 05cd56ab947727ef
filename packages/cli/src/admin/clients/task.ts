/** What commands about clients work with. */
import type { ClientAdministration } from '@portcullis/authorization-server';
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
  readonly metadata?: string;
  readonly secretFile?: string;
};

export interface Task {
  readonly clients: ClientAdministration;
  readonly settings: Settings;
  readonly flags: Flags;
  /** The client that it is about; empty where it is about none. */
  readonly id: string;
  readonly processContext: ProcessContext;
}

/** What one of the commands does. It answers what to write. */
export type Act = (task: Task) => Promise<string>;
