/** A command that acts on a remote server through its admin API. */
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { AdminApi, ApiRequest } from './admin-api.ts';

/** Options of a command by their names in camelCase. */
export type RemoteFlags = Readonly<Record<string, unknown>>;

/** What a command works with. */
export interface RemoteTask {
  readonly api: AdminApi;
  readonly args: readonly string[];
  readonly flags: RemoteFlags;
  readonly terminal: Terminal;
  readonly processContext: ProcessContext;
}

interface RemoteAbout {
  /** `users show` */
  readonly words: string;
  readonly summary: string;
  /** `<email>` is required, `[email]` is not. */
  readonly args?: readonly (readonly [name: string, about: string])[];
  readonly options?: readonly (readonly [flags: string, about: string])[];
  /** Adds options that have parsers: those of the command beside the database. */
  readonly define?: (command: Command) => void;
  /** Takes a reason for the audit log. */
  readonly isChange?: true;
}

/** A command that is one request, whose response it prints. */
interface RequestCommand extends RemoteAbout {
  /** Members of a list that are the columns of its table; without them, each member is a line. */
  readonly columns?: readonly string[];
  /** Prints the response in a way of its own. */
  readonly text?: (found: unknown, columns?: readonly string[]) => string;
  readonly request: (args: readonly string[], flags: RemoteFlags) => ApiRequest;
}

/** A command that needs several requests, or prints in a way of its own. */
export interface TaskCommand extends RemoteAbout {
  readonly act: (task: RemoteTask) => Promise<void>;
}

export type RemoteCommand = RequestCommand | TaskCommand;

/** A segment of a path. */
export function at(text = ''): string {
  return encodeURIComponent(text);
}

/** The flags of these names that have a text, as a query. */
export function textsOf(flags: RemoteFlags, ...names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.flatMap((name) => (typeof flags[name] === 'string' ? [[name, flags[name]]] : [])),
  );
}

/** One request about one thing, by its path. */
export function requestAbout(
  words: string,
  summary: string,
  args: RemoteCommand['args'] & {},
  [method, path]: readonly [ApiRequest['method'], (id: string) => string],
): RemoteCommand {
  return {
    ...{ words, summary, args, ...(method !== 'GET' && { isChange: true }) },
    request: ([id = '']) => ({ method, path: path(at(id)) }),
  };
}
