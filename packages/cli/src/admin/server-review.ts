/** `portcullis servers review`, `approve` and `reject`: reviews new and changed tools of the servers behind the gateway. */
import { compareLines } from '@portcullis/admin/operations';
import type { GatewayAuditEvent } from '@portcullis/gateway';
import type { PendingDefinitionRecord } from '@portcullis/protocol';
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { cleanJson, cleanLine, escapeUnits } from '../terminal/clean.ts';
import { createTerminal, type Styles } from '../terminal/terminal.ts';
import { timeOf } from '../terminal/times.ts';
import { type Output, type StoreTask, storeCommands } from './store-commands.ts';
import type { Tools } from './with-store.ts';

/** More tools than one review displays. */
const MAX_PENDING = 1000;

export function defineServerReview(group: Command, processContext: ProcessContext): void {
  const define = storeCommands(group, processContext, (task: StoreTask<Flags>) => task);
  define('review', 'show new and changed tools, which stay hidden until they are approved', showPending)
    .argument('[path]', 'path of a server')
    .option('--json', 'as JSON');
  const decisions = [
    ['approve', 'approve definitions of tools as they were reviewed'],
    ['reject', 'reject definitions of tools; what was approved before stays'],
  ] as const;
  for (const [name, summary] of decisions)
    define(name, summary, (task) => decide(name, task))
      .argument('<path>', 'path of the server')
      .argument('[tools...]', 'names of tools')
      .option('--all', 'all tools that wait');
}

interface Flags {
  readonly all?: true;
}

async function showPending({ processContext, args: [path], ...tools }: StoreTask<Flags>): Promise<Output> {
  const pending = await findPending(tools, path);
  const { styles } = createTerminal(processContext.streams, processContext.environment);
  const shown = pending.map((pin) => {
    const title = `${cleanLine(pin.server)} ${cleanJson(pin.name)}: ${stateOf(pin)} since ${timeOf(pin.changedAt)}`;
    return `${styles.bold(title)}\n${formatDifference(pin, styles, pending.length)}\n`;
  });
  const advice = `Approve with ${processContext.command} servers approve <path> <tool>, or reject. Until then clients neither see nor call them.\n`;
  const text = pending.length === 0 ? 'No tools wait for approval.\n' : `${shown.join('')}${advice}`;
  return { json: pending.map(toJson), text };
}

async function decide(
  decision: 'approve' | 'reject',
  { flags, args: [path = '', ...names], settings, processContext, ...tools }: StoreTask<Flags>,
): Promise<Output> {
  if (names.length > 0 && flags.all === true) throw new Error('Name tools, or use --all: not both.');
  const paths = settings.servers.map((server) => server.path);
  const pending = await findPending(tools, path);
  // Of a server that was removed, definitions may still wait.
  if (pending.length === 0 && paths.length > 0 && !paths.includes(path))
    throw new Error(`There is no server at ${cleanLine(path)}; there are ${paths.join(', ')}`);
  const unknown = names.find((name) => !pending.some((pin) => pin.name === name));
  if (unknown !== undefined || pending.length === 0) throw nothingWaits(path, unknown, processContext);
  // Only reviewed tools are approved by name; approving all that are pending requires a flag.
  if (names.length === 0 && flags.all !== true) throw noneNamed(decision, path, pending);
  const chosen = pending.filter(({ name }) => flags.all === true || names.includes(name));
  for (const pin of chosen) await decideOne(tools, decision, pin);
  return `${decision === 'approve' ? 'Approved' : 'Rejected'}: ${chosen.length}.\n`;
}

async function decideOne(
  { store, clock, recordOf }: Pick<Tools, 'store' | 'clock' | 'recordOf'>,
  decision: 'approve' | 'reject',
  pin: PendingDefinitionRecord,
): Promise<void> {
  const { server, name: tool } = pin;
  if (!(await store.decidePendingPin(decision, pin, pin, clock())))
    throw new Error(`The tool ${cleanJson(tool)} has changed again meanwhile: review it once more.`);
  const type = decision === 'approve' ? 'tool.approved' : 'tool.rejected';
  const { gatewayAuditEvents } = await import('@portcullis/gateway');
  recordOf<GatewayAuditEvent>(gatewayAuditEvents, { type, server, tool });
}

function findPending(
  { store }: Pick<Tools, 'store'>,
  path: string | undefined,
): Promise<readonly PendingDefinitionRecord[]> {
  return store.listPendingPins(MAX_PENDING, path === undefined ? undefined : { server: path });
}

function stateOf({ approvedDefinition }: PendingDefinitionRecord): string {
  return approvedDefinition === null ? 'new' : 'changed';
}

function toJson(pin: PendingDefinitionRecord): object {
  const parse = (text: string | null): unknown => (text === null ? null : JSON.parse(text));
  return {
    path: pin.server,
    tool: pin.name,
    state: stateOf(pin),
    since: timeOf(pin.changedAt),
    approved: parse(pin.approvedDefinition),
    pending: parse(pin.definition),
  };
}

function noneNamed(decision: string, path: string, pending: readonly PendingDefinitionRecord[]): Error {
  const names = [...new Set(pending.map(({ name }) => cleanJson(name)))].join(', ');
  return new Error(
    `Name the tools of ${cleanLine(path)} to ${decision}, or use --all for all that wait: ${names}`,
  );
}

function nothingWaits(path: string, tool: string | undefined, { command }: ProcessContext): Error {
  const what = tool === undefined ? 'No tool' : `No tool ${cleanJson(tool)}`;
  return new Error(
    `${what} of ${cleanLine(path)} waits for approval: ${command} servers review shows all that do`,
  );
}

type Definition = Pick<PendingDefinitionRecord, 'approvedDefinition' | 'definition'>;

/**
 * What differs between two definitions, line by line, with invisible and bidirectional characters escaped.
 * @param among how many differences are shown: they share the cost of one
 */
export function formatDifference(
  { approvedDefinition, definition }: Definition,
  { good, bad, faint }: Pick<Styles, 'good' | 'bad' | 'faint'>,
  among = 1,
): string {
  const style = { '+': good, '-': bad, ' ': faint };
  const lines = compareLines(linesOf(approvedDefinition), linesOf(definition), among);
  return lines.map(([sign, line]) => `${style[sign](`${sign} ${line}`)}\n`).join('');
}

function linesOf(definition: string | null): readonly string[] {
  return definition === null
    ? []
    : cleanJson(JSON.parse(definition)).replace(INVISIBLE, escapeUnits).split('\n');
}

/** Other spaces, fillers and variation selectors are invisible too. */
const INVISIBLE = /\u034f|[\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]|\p{Variation_Selector}|(?! )\p{Zs}/gu;
