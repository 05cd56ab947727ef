/** A command that acts on a remote server through its admin API. */
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

/** How a command differs from the one beside the database, whose arguments, options and help it has. */
interface Differences {
  readonly description?: string;
  /** Further options, and those that mean something else. */
  readonly options?: readonly (readonly [flags: string, about: string])[];
  /** Options that the API has not. */
  readonly without?: readonly string[];
  /** Takes a reason for the audit log; by default every command with a request that is no GET. */
  readonly isChange?: boolean;
}

type Body = Readonly<Record<string, unknown>>;

/** A command that is one request, whose response it prints. */
interface RequestCommand extends Differences {
  /** Members of a list that are the columns of its table; without them, each member is a line. */
  readonly columns?: readonly string[];
  /** Prints the response in a way of its own. */
  readonly text?: (found: unknown, columns: readonly string[] | undefined, flags: RemoteFlags) => string;
  /** `GET /users/:id`: the arguments are the variable segments of the path, in their order. */
  readonly request:
    | `${ApiRequest['method']} /${string}`
    | ((args: readonly string[], flags: RemoteFlags) => ApiRequest);
  readonly query?: (args: readonly string[], flags: RemoteFlags) => ApiRequest['query'] & {};
  readonly body?: (args: readonly string[], flags: RemoteFlags) => Body;
}

/** A command that needs several requests, or prints in a way of its own. */
interface TaskCommand extends Differences {
  readonly act: (task: RemoteTask) => Promise<void>;
}

export type RemoteCommand = RequestCommand | TaskCommand;

/** Commands by their words, such as `users show`. */
export type RemoteCommands = Readonly<Record<string, RemoteCommand>>;

/** The request of a command. */
export function requestOf(
  { request, query, body }: RequestCommand,
  args: readonly string[],
  flags: RemoteFlags,
): ApiRequest {
  if (typeof request !== 'string') return request(args, flags);
  const [method, route = ''] = request.split(' ');
  const unused = [...args];
  return {
    method: method as ApiRequest['method'],
    path: route.replace(/:\w+/g, () => at(unused.shift())),
    ...(query && { query: query(args, flags) }),
    ...(body && { body: body(args, flags) }),
  };
}

/** A segment of a path. @throws Error for a dot segment: a URL parser resolves it, even if it is encoded */
export function at(text = ''): string {
  if (/^\.{1,2}$/.test(text)) throw new Error(`${text} is not an identifier`);
  return encodeURIComponent(text);
}

/** The flags of these names that have a text, as a query. */
export function textsOf(flags: RemoteFlags, ...names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.flatMap((name) => (typeof flags[name] === 'string' ? [[name, flags[name]]] : [])),
  );
}

/** What a new token is for, and how long it is valid. */
export function tokenBody({ days, note }: RemoteFlags): Body {
  return { seconds: Number(days) * 86_400, note };
}
