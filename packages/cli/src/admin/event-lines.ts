/** Audit events as lines: a table in a terminal, otherwise one line with every member, or JSON. */
import { readReference } from '@portcullis/admin/operations';
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import { formatJson, formatText, type LogEvent } from '../server/log.ts';
import { cleanLine } from '../terminal/clean.ts';

/** Formats an event as one line. */
export type FormatEvent = (event: AuditEventRecord) => Promise<string>;

/** One line with every member, as servers write it to their logs; text with the date. */
function logLine(kind: 'json' | 'text'): FormatEvent {
  return async (event) => {
    const [at, described] = [new Date(event.at), describe(event)];
    return kind === 'json' ? formatJson(at, described) : `${dateOf(event)} ${formatText(at, described)}`;
  };
}

function describe({ type, details, ...record }: AuditEventRecord): LogEvent {
  const { clientId, accountId, grantId, resource, transactionId } = record;
  const known = Object.entries({ clientId, accountId, grantId, resource, transactionId, ...details }).filter(
    ([, value]) => value !== null,
  );
  return { type, ...Object.fromEntries(known) };
}

/** Widths of the columns but the last; longer values push the rest to the right. */
const WIDTHS = [19, 22, 24, 20, 32];

/** The header of the table. */
export const tableHeader: string = row(['time (UTC)', 'event', 'user', 'app', 'what', 'result']);

/** Finds the names of users and clients. */
export interface NamedParties {
  findAccount(id: string): Promise<{ readonly email: string } | null>;
  findClient(id: string): Promise<{ readonly metadata: { readonly client_name?: unknown } } | null>;
}

/** A row of the table, with users and clients by their names. */
export function tableRow(store: NamedParties): FormatEvent {
  const names = new Map<string, Promise<string>>();
  const nameOf = (id: string | null, find: (id: string) => Promise<string | undefined>): Promise<string> => {
    if (id === null) return Promise.resolve('');
    const known = names.get(id) ?? find(id).then((name) => name ?? id);
    names.set(id, known);
    return known;
  };
  return async (event) => {
    const { accountId, clientId, details, resource, type, at } = event;
    const user = await nameOf(accountId, async (id) => (await store.findAccount(id))?.email);
    const app = await nameOf(clientId, async (id) =>
      textOf((await store.findClient(id))?.metadata.client_name),
    );
    const what =
      [details['server'], details['tool'] ?? details['target']]
        .flatMap((value) => textOf(value) ?? [])
        .join(' ') ||
      textOf(details['scopes']) ||
      textOf(details['endpoint']) ||
      textOf(details['keyId']) ||
      resource;
    const result = [
      details['decision'],
      details['outcome'],
      details['error'],
      details['reason'],
      details['reference'],
    ];
    return row([
      `${dateOf(event)} ${new Date(at).toISOString().slice(11, 19)}`,
      type,
      user,
      app,
      what ?? '',
      result.flatMap((value) => textOf(value) ?? []).join(', '),
    ]);
  };
}

/** Prints each event once, in a terminal as a row of a table. @param write receives whole lines */
export function createEventPrinter(
  { isTerminal, json }: { readonly isTerminal: boolean; readonly json: boolean },
  parties: NamedParties,
  write: (text: string) => void,
) {
  const isTable = isTerminal && !json;
  const format = isTable ? tableRow(parties) : logLine(json ? 'json' : 'text');
  const seen = new Set<string>();
  return {
    header(): void {
      if (isTable) write(`${tableHeader}\n`);
    },
    async print(event: AuditEventRecord): Promise<void> {
      if (seen.has(event.id)) return;
      seen.add(event.id);
      write(`${await format(event)}\n`);
    },
  };
}

/** Whether an event is one of the authorization or has the reference that the flags name, if they do. */
export function isNamedEvent(
  { transactionId, details }: AuditEventRecord,
  { flow, reference }: { readonly flow?: unknown; readonly reference?: unknown },
): boolean {
  if (typeof reference === 'string') return details['reference'] === readReference(reference);
  return flow === undefined || flow === transactionId;
}

function dateOf({ at }: AuditEventRecord): string {
  return new Date(at).toISOString().slice(0, 10);
}

function textOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.join(' ');
  return typeof value === 'string' ? value : undefined;
}

function row(cells: readonly string[]): string {
  return cells
    .map((cell, index) => cleanLine(cell).padEnd(WIDTHS[index] ?? 0))
    .join('  ')
    .trimEnd();
}
