/** `approvals` of a remote server. */
import { jsonLine, watchList } from '../admin/watch-list.ts';
import { isObject, type Json } from '../json.ts';
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
