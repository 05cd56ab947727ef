/** `portcullis streams`: the streams by which receivers get security events (Shared Signals Framework). */
import { type ListedStream, listEventStreams, removeStream } from '@portcullis/admin/operations';
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { NOT_ROUTINE } from '../server/delivery.ts';
import { cleanLine } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';
import { withTimes } from '../terminal/times.ts';
import { type Output, type StoreTask, storeCommands } from './store-commands.ts';

export function defineStreams(program: Command, processContext: ProcessContext): void {
  const group = program
    .command('streams')
    .summary('list and remove the streams by which receivers get security events');
  const define = storeCommands(group, processContext, (task: StoreTask<object>) => task);
  define('list', 'list the streams of receivers, and how their delivery is', list).option(
    '--json',
    'as JSON',
  );
  define(
    'remove',
    'remove a stream',
    remove,
    'Its receiver gets nothing more until it creates another; to prevent that, remove it from sharedSignals.',
  ).argument('<id>', 'ID of the stream, as listed');
}

async function list({ store }: StoreTask<object>): Promise<Output> {
  const streams = await listEventStreams(store);
  return { json: streams.map((stream) => withTimes(stream, 'createdAt')), text: textOf(streams) };
}

async function remove({ store, recordOf, args, processContext }: StoreTask<object>): Promise<Output> {
  const [id = ''] = args;
  const removed = await removeStream(store, (event) => recordOf(NOT_ROUTINE, event), id);
  if (removed === null)
    throw new Error(`There is no stream ${cleanLine(id)}: ${processContext.command} streams list shows all`);
  return `The stream ${cleanLine(id)} of ${cleanLine(removed.clientId)} is removed.\n`;
}

function textOf(streams: readonly ListedStream[]): string {
  if (streams.length === 0) return 'No receiver has a stream.\n';
  return columns(
    streams.map(({ id, clientId, host, status, attempts, lastError }) => [
      id,
      cleanLine(clientId),
      host === null ? 'polled' : `pushed to ${cleanLine(host)}`,
      attempts === 0 ? status : `${status}, the last ${attempts} failed (${cleanLine(lastError ?? '')})`,
    ]),
  );
}
