/** `approvals` of a remote server. */
import { jsonLine, watchList } from '../admin/watch-list.ts';
import type { Json } from '../json.ts';
import { cleanJson } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';
import { type RemoteCommand, type RemoteTask, remote } from './command.ts';
import { cellOf } from './describe.ts';

const APPROVAL = [['<id>', 'ID of the approval']] as const;
const COLUMNS = ['id', 'createdAt', 'server', 'tool', 'user'] as const;

/** Milliseconds between requests. */
const POLL_INTERVAL = 2_000;

export const approvalCommands: readonly RemoteCommand[] = [
  remote('approvals list', 'list the calls that wait for approval', {
    options: [['--watch', 'keep printing new ones until stopped']],
    act: list,
  }),
  remote('approvals show', 'show a call with all its arguments', {
    args: APPROVAL,
    request: 'GET /approvals/:id',
  }),
  remote('approvals allow', 'allow a call', {
    args: APPROVAL,
    options: [['--again', 'also the same call again, for the time that its rule offers']],
    request: 'POST /approvals/:id/allow',
    body: (_args, { again = false }) => ({ again }),
  }),
  remote('approvals deny', 'deny a call', { args: APPROVAL, request: 'POST /approvals/:id/deny' }),
];

async function list({ api, flags, terminal }: RemoteTask): Promise<void> {
  const find = () => api.list('/approvals');
  const pending = await find();
  if (flags['watch']) {
    terminal.during(null);
    return watchList(pending, find, POLL_INTERVAL, (one) =>
      terminal.print(flags['json'] ? jsonLine(one) : columns([rowOf(one)])),
    );
  }
  const text = pending.length === 0 ? 'No call waits for approval.\n' : columns(pending.map(rowOf));
  terminal.print(flags['json'] ? `${cleanJson(pending)}\n` : text);
}

function rowOf(approval: Json): readonly string[] {
  return COLUMNS.map((name) => cellOf(approval[name]));
}
