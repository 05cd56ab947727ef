/** `portcullis events`: what happened, from the store that servers write to. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEventRecord, AuthorizationStore } from '@portcullis/authorization-server/store';
import { type Command, InvalidArgumentError } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { createLog, type LogEvent } from '../server/log.ts';
import { openBesideServers } from '../server/storage.ts';
import { optionOf } from '../settings/command-options.ts';
import { resolveSettings } from '../settings/resolve.ts';
import type { SettingName } from '../settings/schema.ts';
import { cleanLine } from '../terminal/clean.ts';

type Flags = Readonly<Partial<Record<SettingName, string>>> & {
  readonly json?: true;
  readonly follow?: true;
  readonly flow?: string;
  readonly reference?: string;
  readonly last: number;
};

/** Milliseconds between two looks at the store. */
const LOOK = 500;
/** Servers write what happened up to so many milliseconds later, each in its own time: so far back is looked again. */
const BACK = 5_000;
const MOST = 1_000;

export function defineEvents(program: Command, processContext: ProcessContext): void {
  const command = program
    .command('events')
    .summary('show what happened, and what happens')
    .description(
      'Shows the events that servers have written to the store, the last ones last. docs/events.md lists them all.',
    );
  for (const setting of ['config', 'database'] as const) command.addOption(optionOf(setting));
  command
    .option('--last <number>', 'so many', readCount, 50)
    .option('--flow <id>', 'all of one authorization request: the transactionId of any of its events')
    .option('--reference <code>', 'the one behind a page that shows this reference')
    .option('--follow', 'and those to come, until it is stopped')
    .option('--json', 'a line of JSON each')
    .action((flags: Flags) => show(flags, processContext));
}

function readCount(text: string): number {
  if (/^\d{1,4}$/.test(text) && Number(text) <= MOST) return Number(text);
  throw new InvalidArgumentError(`It must be a whole number up to ${MOST}.`);
}

async function show(flags: Flags, { environment, folder, write, complain }: ProcessContext): Promise<void> {
  const settings = await resolveSettings({ flags, environment, folder });
  const store = await openBesideServers(settings, folder, 'refuse');
  const print = (event: AuditEventRecord) =>
    createLog(
      flags.json ? 'json' : 'text',
      (line) => write(`${line}\n`),
      () => new Date(event.at),
    )(describe(event));
  try {
    const past = await findPast(store, flags);
    for (const event of past) print(event);
    if (past.length === 0) for (const line of nothingOf(flags)) complain(line);
    if (flags.follow) await follow(store, past, (event) => isWanted(event, flags) && print(event));
  } finally {
    await store.close();
  }
}

/** Nothing at all is said of a store that holds no event yet. */
function nothingOf({ flow, reference }: Flags): readonly string[] {
  const kept = 'or it was not kept for so long';
  if (reference !== undefined)
    return [`no event has the reference ${cleanLine(readReference(reference))}, ${kept}`];
  if (flow === undefined) return [];
  return [
    `no event has the transactionId ${cleanLine(flow)}, ${kept}: look for it with --last, or by --reference`,
  ];
}

function findPast(
  store: AuthorizationStore,
  { flow, reference, last }: Flags,
): Promise<readonly AuditEventRecord[]> {
  if (reference !== undefined) return findReference(store, readReference(reference));
  return flow === undefined ? store.listLatestEvents(last) : store.listTransactionEvents(flow, MOST);
}

/** What somebody read out or copied: `k7m5 pmrh` is `K7M5-PMRH`. */
function readReference(text: string): string {
  return text
    .toUpperCase()
    .replace(/[^0-9A-Z]/g, '')
    .replace(/^(.{4})/, '$1-');
}

/** Looks through all that is kept. */
async function findReference(
  store: AuthorizationStore,
  reference: string,
): Promise<readonly AuditEventRecord[]> {
  const found: AuditEventRecord[] = [];
  for (let after = ''; ; ) {
    const page = await store.listEvents(after, MOST);
    found.push(...page.filter(({ details }) => details['reference'] === reference));
    if (page.length < MOST) return found;
    after = page.at(-1)?.id ?? '';
  }
}

function isWanted({ transactionId, details }: AuditEventRecord, { flow, reference }: Flags): boolean {
  if (reference !== undefined) return details['reference'] === readReference(reference);
  return flow === undefined || flow === transactionId;
}

/** Never resolves. */
async function follow(
  store: AuthorizationStore,
  past: readonly AuditEventRecord[],
  take: (event: AuditEventRecord) => void,
): Promise<void> {
  const seen = new Set(past.map(({ id }) => id));
  const began = past.at(-1)?.at ?? Date.now();
  for (;;) {
    const from = Math.max(began, Date.now() - BACK);
    for (let page = await store.listEvents(beginningOf(from), MOST); page.length > 0; ) {
      for (const event of page.filter(({ id }) => !seen.has(id))) {
        seen.add(event.id);
        take(event);
      }
      page = page.length < MOST ? [] : await store.listEvents(page.at(-1)?.id ?? '', MOST);
    }
    await sleep(LOOK);
  }
}

/** What stands before every identifier of a time. */
function beginningOf(at: number): string {
  return at.toString(36).padStart(9, '0');
}

function describe({ type, details, ...record }: AuditEventRecord): LogEvent {
  const { clientId, accountId, grantId, resource, transactionId } = record;
  const known = Object.entries({ clientId, accountId, grantId, resource, transactionId, ...details }).filter(
    ([, value]) => value !== null,
  );
  return { type, ...Object.fromEntries(known) };
}
