/** `portcullis approvals`: lists the calls that wait for a decision, shows one whole, and decides about it. */
import { createApprovalAdministration, type ListedApproval } from '@portcullis/authorization-server';
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { cleanLine, cleanText } from '../terminal/clean.ts';
import { timeOf, withTimes } from '../terminal/times.ts';
import { clientText, type NamedClient, withClientName } from './connections.ts';
import { type Output, type StoreTask, storeCommands } from './store-commands.ts';
import { jsonLine, watchList } from './watch-list.ts';

interface Flags {
  readonly json?: true;
  readonly watch?: true;
  readonly again?: true;
  readonly reason?: string;
}

function taskOf(task: StoreTask<Flags>) {
  return { ...task, approvals: createApprovalAdministration(task), id: task.args[0] ?? '' };
}

type Task = ReturnType<typeof taskOf>;

export function defineApprovals(program: Command, processContext: ProcessContext): void {
  const group = program
    .command('approvals')
    .summary('list calls that wait for approval, and decide about them');
  const define = storeCommands(group, processContext, taskOf);
  define('list', 'list the calls that wait for approval', list)
    .option('--watch', 'keep printing new ones until stopped')
    .option('--json', 'as JSON');
  define('show', 'show a call with all its arguments', show)
    .argument('<id>', 'ID of the approval, or its first characters')
    .option('--json', 'as JSON');
  define('allow', 'allow a call', allow, 'It is allowed once, with exactly the arguments that show prints.')
    .argument('<id>', 'ID of the approval, or its first characters')
    .option('--again', 'also the same call again, for the time that its rule offers');
  define('deny', 'deny a call', deny)
    .argument('<id>', 'ID of the approval, or its first characters')
    .option('--reason <text>', 'for the app that asked');
}

/** Milliseconds. */
const POLL_INTERVAL = 1000;

type NamedApproval = ListedApproval & NamedClient;

async function list(task: Task): Promise<Output> {
  const { approvals, flags, processContext } = task;
  const pending = await approvals.list();
  if (flags.watch)
    return watchList(
      pending,
      () => approvals.list(),
      POLL_INTERVAL,
      async (one) => {
        const named = await withClientName(one, task);
        processContext.write(flags.json ? jsonLine(shown(named)) : summarize(named));
      },
    );
  const named = await Promise.all(pending.map((one) => withClientName(one, task)));
  const text = named.length === 0 ? 'No call waits for approval.\n' : named.map(summarize).join('');
  return { json: named.map(shown), text };
}

/** Characters of an ID that name it. */
const SHORT_ID = 8;

function summarize(one: NamedApproval): string {
  const { id, tool, server, account, createdAt, approverGroups } = one;
  const by = approverGroups === null ? 'the user' : approverGroups.join(', ');
  const user = account === null ? '' : ` for ${cleanLine(account)}`;
  return `${id.slice(0, SHORT_ID)}  ${timeOf(createdAt)}  ${cleanLine(tool)} at ${server}${user}, by ${cleanLine(clientText(one))}; waits for ${cleanLine(by)}\n`;
}

async function show(task: Task): Promise<Output> {
  const found = await withClientName(await findNamed(task), task);
  return { json: shown(found), text: describe(found) };
}

function describe(one: NamedApproval): string {
  const { account, rule, expiresAt, reusableFor, description, shownArguments } = one;
  const facts: readonly (readonly [string, string])[] = [
    ['user', account ?? 'none'],
    ['client', clientText(one)],
    ['rule', rule],
    ['until', timeOf(expiresAt)],
    ['offers', reusableFor === null ? 'this call' : `this call, or the same for ${reusableFor} seconds`],
    ['tool', description ?? 'not described'],
  ];
  const lines = facts.map(([name, text]) => `  ${name.padEnd(8)}${cleanLine(text)}\n`);
  const given = shownArguments.map(
    ([name, text]) => `    ${name}: ${cleanText(text).replaceAll('\n', '\n      ')}\n`,
  );
  return `${summarize(one)}${lines.join('')}  ${given.length === 0 ? 'no arguments' : 'arguments'}\n${given.join('')}`;
}

async function allow(task: Task): Promise<Output> {
  const { again } = task.flags;
  const found = await findNamed(task);
  if (again && found.reusableFor === null)
    throw new Error('The rule of this call offers to allow it once only: leave --again out');
  await decide(task, found, again ? 'repeatedly' : 'once');
  return `Allowed ${cleanLine(found.tool)}${again ? ` for ${found.reusableFor} seconds` : ' once'}.\n`;
}

async function deny(task: Task): Promise<Output> {
  const found = await findNamed(task);
  await decide(task, found, 'deny');
  return `Denied ${cleanLine(found.tool)}.\n`;
}

async function decide(
  { approvals, flags }: Task,
  { id }: ListedApproval,
  choice: Parameters<Task['approvals']['decide']>[1],
): Promise<void> {
  if (!(await approvals.decide(id, choice, flags.reason)))
    throw new Error('It was decided already, or has expired');
}

async function findNamed({ approvals, id }: Task): Promise<ListedApproval> {
  const found = await approvals.find(id);
  if (found !== null) return found;
  const isAmbiguous = (await approvals.list()).some((one) => one.id.startsWith(id));
  throw new Error(
    isAmbiguous
      ? `${cleanLine(id)} does not name one pending approval: give more of its ID`
      : `No pending approval has an ID that begins with ${cleanLine(id)}. If there was one, it was decided, or has expired`,
  );
}

function shown(approval: ListedApproval): object {
  return withTimes(approval, 'createdAt', 'expiresAt');
}
