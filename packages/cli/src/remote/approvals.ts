/** `approvals list` of a remote server. */
import { jsonLine, watchList } from '../admin/watch-list.ts';
import type { Json } from '../json.ts';
import { cleanJson } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';
import type { RemoteTask } from './command.ts';
import { cellOf } from './describe.ts';

const COLUMNS = ['id', 'createdAt', 'server', 'tool', 'user'] as const;

/** Milliseconds between requests. */
const POLL_INTERVAL = 2_000;

export async function listApprovals({ api, flags, terminal }: RemoteTask): Promise<void> {
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
