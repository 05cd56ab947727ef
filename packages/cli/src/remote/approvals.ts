/** `approvals` of a remote server. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isObject } from '../json.ts';
import { cleanJson } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';
import { at, type RemoteCommand, type RemoteTask, requestAbout } from './command.ts';
import { cellOf } from './describe.ts';

const APPROVAL = [['<id>', 'ID of the approval']] as const;
const COLUMNS = ['id', 'createdAt', 'server', 'tool', 'user'] as const;

/** Milliseconds between requests. */
const POLL_INTERVAL = 2_000;

export const approvalCommands: readonly RemoteCommand[] = [
  {
    words: 'approvals list',
    summary: 'list the calls that wait for approval',
    options: [['--watch', 'keep printing new ones until stopped']],
    act: list,
  },
  requestAbout('approvals show', 'show a call with all its arguments', APPROVAL, [
    'GET',
    (id) => `/approvals/${id}`,
  ]),
  {
    words: 'approvals allow',
    summary: 'allow a call',
    args: APPROVAL,
    options: [['--again', 'also the same call again, for the time that its rule offers']],
    isChange: true,
    request: ([id], { again = false }) => ({
      method: 'POST',
      path: `/approvals/${at(id)}/allow`,
      body: { again },
    }),
  },
  requestAbout('approvals deny', 'deny a call', APPROVAL, ['POST', (id) => `/approvals/${id}/deny`]),
];

async function list({ api, flags, terminal }: RemoteTask): Promise<void> {
  const find = async () => {
    const found = await api.send({ method: 'GET', path: '/approvals' });
    return Array.isArray(found) ? found.filter(isObject) : [];
  };
  const pending = await find();
  if (!flags['watch']) {
    if (flags['json']) return terminal.print(`${cleanJson(pending)}\n`);
    return terminal.print(
      pending.length === 0 ? 'No call waits for approval.\n' : columns(pending.map(rowOf)),
    );
  }
  terminal.during(null);
  const print = (one: Readonly<Record<string, unknown>>) =>
    terminal.print(flags['json'] ? `${cleanJson(one).replace(/\n\s*/g, '')}\n` : columns([rowOf(one)]));
  let seen: ReadonlySet<unknown> = new Set();
  for (let found = pending; ; found = await find()) {
    for (const one of found.filter(({ id }) => !seen.has(id))) print(one);
    seen = new Set(found.map(({ id }) => id));
    await sleep(POLL_INTERVAL);
  }
}

function rowOf(approval: Readonly<Record<string, unknown>>): readonly string[] {
  return COLUMNS.map((name) => cellOf(approval[name]));
}
