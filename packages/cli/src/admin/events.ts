/** `portcullis events`: shows the audit log from the store. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createFilter,
  type EventCriteria,
  type EventFilter,
  findReference,
  idPrefixOf,
  listEvents,
  readReference,
  type SearchedStore,
} from '@portcullis/admin/operations';
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import { type Command, InvalidArgumentError } from 'commander';
import { CommandFailure, exitCodes } from '../client/exit-codes.ts';
import type { ProcessContext } from '../process-context.ts';
import { cleanLine } from '../terminal/clean.ts';
import { addFilterOptions } from './event-filter.ts';
import { createEventPrinter, isNamedEvent } from './event-lines.ts';
import { type Output, type StoreTask, storeCommands } from './store-commands.ts';

type Flags = EventCriteria & {
  readonly json?: true;
  readonly follow?: true;
  readonly flow?: string;
  readonly reference?: string;
  readonly last: number;
};
type Task = StoreTask<Flags>;

/** Milliseconds between queries. */
const POLL_INTERVAL = 500;
/** Maximum delay in milliseconds with which servers write events: each query overlaps the previous one by it. */
const OVERLAP = 5_000;
const MAX_EVENTS = 1_000;

export function defineEvents(program: Command, processContext: ProcessContext): void {
  const define = storeCommands(program, processContext, (task: Task) => task, ['config', 'database']);
  const command = define(
    'events',
    'show or follow the audit log',
    show,
    'Shows what servers have written to the store, the latest last: a table in a terminal, every member of each event otherwise. docs/events.md lists all events.',
  );
  addFilterOptions(command);
  command
    .option('--last <number>', 'number of events to show, of those that match', readCount, 50)
    .option('--flow <id>', 'all events of one authorization transaction, by their transactionId')
    .option(
      '--reference <code>',
      'a reference code shown on an error page, with the other events of its authorization transaction',
    )
    .option('--follow', 'keep printing new events until stopped')
    .option('--json', 'one JSON object per line');
}

function readCount(text: string): number {
  if (/^\d{1,4}$/.test(text) && Number(text) <= MAX_EVENTS) return Number(text);
  throw new InvalidArgumentError(`It must be a whole number up to ${MAX_EVENTS}.`);
}

async function show({ store, flags, processContext }: Task): Promise<Output> {
  const { write, complain, streams } = processContext;
  const printer = createEventPrinter(
    { isTerminal: streams.output.isTTY === true, json: flags.json === true },
    store,
    write,
  );
  const filter = await createFilter(flags, store);
  const past = await findPast(store, flags, filter);
  if (past.length > 0 || flags.follow) printer.header();
  for (const event of past) await printer.print(event);
  const explanation = past.length === 0 ? explainEmpty(flags) : [];
  if (past.length === 0 && explanation.length === 0 && filter !== null) complain('no event matches');
  for (const line of explanation) complain(line);
  if (explanation.length > 0 && !flags.follow) throw new CommandFailure(exitCodes.usage);
  if (flags.follow) {
    await follow(store, past.at(-1)?.at ?? Date.now(), async (event) => {
      if (filter?.matches(event) !== false && isNamedEvent(event, flags)) await printer.print(event);
    });
  }
  return '';
}

/** Explains why no event was found; silent if the store has no events yet. */
function explainEmpty({ flow, reference }: Flags): readonly string[] {
  const retained = 'or it has been deleted by retention';
  if (reference !== undefined)
    return [`no event has the reference ${cleanLine(readReference(reference))}, ${retained}`];
  if (flow === undefined) return [];
  return [`no event has the transactionId ${cleanLine(flow)}, ${retained}: try --last or --reference`];
}

async function findPast(
  store: SearchedStore,
  flags: Flags,
  filter: EventFilter | null,
): Promise<readonly AuditEventRecord[]> {
  const { flow, reference, last } = flags;
  if (reference !== undefined) return findReference(store, readReference(reference));
  if (flow === undefined)
    return (await listEvents(store, flags, '', last, Number.POSITIVE_INFINITY)).events.toReversed();
  const events = await store.listTransactionEvents(flow, MAX_EVENTS);
  return filter === null ? events : events.filter(filter.matches);
}

/** Never resolves. @param began epoch milliseconds @param take receives events more than once */
async function follow(
  store: SearchedStore,
  began: number,
  take: (event: AuditEventRecord) => Promise<void>,
): Promise<void> {
  for (;;) {
    const from = Math.max(began, Date.now() - OVERLAP);
    for (let page = await store.listEvents(idPrefixOf(from), MAX_EVENTS); page.length > 0; ) {
      for (const event of page) await take(event);
      page = page.length < MAX_EVENTS ? [] : await store.listEvents(page.at(-1)?.id ?? '', MAX_EVENTS);
    }
    await sleep(POLL_INTERVAL);
  }
}
