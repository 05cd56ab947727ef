/** `portcullis approvals`: lists the calls that wait for a decision, shows one whole, and decides about it. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ApprovalAdministration,
  createApprovalAdministration,
  type ListedApproval,
} from '@portcullis/authorization-server';
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import type { SettingName } from '../settings/schema.ts';
import { cleanJson, cleanLine, cleanText } from '../terminal/clean.ts';
import { timeOf } from '../terminal/times.ts';
import { findInstallation } from './installation.ts';
import { addSubcommand } from './subcommand.ts';
import { withStore } from './with-store.ts';

type Flags = Readonly<Partial<Record<SettingName, string>>> & {
  readonly json?: true;
  readonly watch?: true;
  readonly again?: true;
  readonly reason?: string;
};

interface Task {
  readonly approvals: ApprovalAdministration;
  readonly flags: Flags;
  /** The approval that is named; empty: none. */
  readonly id: string;
  readonly write: (text: string) => void;
}

type Act = (task: Task) => Promise<void>;

export function defineApprovals(program: Command, processContext: ProcessContext): void {
  const group = program
    .command('approvals')
    .summary('list calls that wait for approval, and decide about them');
  const define = (name: string, act: Act, summary: string, more?: string) => {
    const command = addSubcommand(group, name, summary, undefined, more);
    return command.action(() => perform(command, processContext, act));
  };
  define('list', list, 'list the calls that wait for approval')
    .option('--watch', 'keep printing new ones until stopped')
    .option('--json', 'as JSON');
  define('show', show, 'show a call with all its arguments')
    .argument('<id>', 'ID of the approval, or its first characters')
    .option('--json', 'as JSON');
  define('allow', allow, 'allow a call', 'It is allowed once, with exactly the arguments that show prints.')
    .argument('<id>', 'ID of the approval, or its first characters')
    .option('--again', 'also the same call again, for the time that its rule offers');
  define('deny', deny, 'deny a call')
    .argument('<id>', 'ID of the approval, or its first characters')
    .option('--reason <text>', 'for the app that asked');
}

async function perform(command: Command, processContext: ProcessContext, act: Act): Promise<void> {
  const flags: Flags = command.opts();
  const { write } = processContext;
  const [id = ''] = command.args;
  await withStore(await findInstallation(flags, processContext), (tools) =>
    act({ approvals: createApprovalAdministration(tools), flags, id, write }),
  );
}

/** Milliseconds. */
const POLL_INTERVAL = 1000;

async function list({ approvals, flags, write }: Task): Promise<void> {
  const pending = await approvals.list();
  if (!flags.watch) {
    if (flags.json) write(`${cleanJson(pending.map(withTimes))}\n`);
    else write(pending.length === 0 ? 'No call waits for approval.\n' : pending.map(summarize).join(''));
    return;
  }
  const print = (one: ListedApproval) =>
    write(flags.json ? `${cleanJson(withTimes(one)).replace(/\n\s*/g, '')}\n` : summarize(one));
  let seen: ReadonlySet<string> = new Set();
  for (let found = pending; ; found = await approvals.list()) {
    for (const one of found.filter(({ id }) => !seen.has(id))) print(one);
    seen = new Set(found.map(({ id }) => id));
    await sleep(POLL_INTERVAL);
  }
}

/** Characters of an ID that name it. */
const SHORT_ID = 8;

function summarize(one: ListedApproval): string {
  const { id, tool, server, account, clientId, createdAt, approverGroups } = one;
  const by = approverGroups === null ? 'the user' : approverGroups.join(', ');
  const user = account === null ? '' : ` for ${cleanLine(account)}`;
  return `${id.slice(0, SHORT_ID)}  ${timeOf(createdAt)}  ${cleanLine(tool)} at ${server}${user}, by ${cleanLine(clientId)}; decided by ${cleanLine(by)}\n`;
}

async function show(task: Task): Promise<void> {
  const { flags, write } = task;
  const found = await findNamed(task);
  write(flags.json ? `${cleanJson(withTimes(found))}\n` : describe(found));
}

function describe(one: ListedApproval): string {
  const { account, clientId, rule, expiresAt, reusableFor, description, shownArguments } = one;
  const facts: readonly (readonly [string, string])[] = [
    ['user', account ?? 'none'],
    ['client', clientId],
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

async function allow(task: Task): Promise<void> {
  const { approvals, flags, write } = task;
  const found = await findNamed(task);
  if (flags.again && found.reusableFor === null)
    throw new Error('The rule of this call offers to allow it once only: leave --again out');
  await decide(approvals.decide(found.id, flags.again ? 'repeatedly' : 'once'));
  write(`Allowed ${cleanLine(found.tool)}${flags.again ? ` for ${found.reusableFor} seconds` : ' once'}.\n`);
}

async function deny(task: Task): Promise<void> {
  const found = await findNamed(task);
  await decide(task.approvals.decide(found.id, 'deny', task.flags.reason));
  task.write(`Denied ${cleanLine(found.tool)}.\n`);
}

async function decide(decision: Promise<boolean>): Promise<void> {
  if (!(await decision)) throw new Error('It was decided already, or has expired');
}

async function findNamed({ approvals, id }: Task): Promise<ListedApproval> {
  const found = await approvals.find(id);
  if (found === null)
    throw new Error(`No pending approval, or several, have an ID that begins with ${cleanLine(id)}`);
  return found;
}

function withTimes({ createdAt, expiresAt, ...approval }: ListedApproval): object {
  return { ...approval, createdAt: timeOf(createdAt), expiresAt: timeOf(expiresAt) };
}
