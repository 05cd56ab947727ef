/** `portcullis streams`: the streams by which receivers get security events (Shared Signals Framework). */
import { type ListedStream, listEventStreams, removeStream } from '@portcullis/admin/operations';
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';
import { timeOf } from '../terminal/times.ts';
import { findInstallation } from './installation.ts';
import { addSubcommand } from './subcommand.ts';
import { withStore } from './with-store.ts';

export function defineStreams(program: Command, processContext: ProcessContext): void {
  const group = program
    .command('streams')
    .summary('list and remove the streams by which receivers get security events');
  const list = addSubcommand(group, 'list', 'list the streams of receivers, and how their delivery is');
  list.option('--json', 'as JSON').action(async () => {
    const installation = await findInstallation(list.opts(), processContext);
    const streams = await withStore(installation, ({ store }) => listEventStreams(store));
    const { json } = list.opts<{ readonly json?: true }>();
    processContext.write(json ? `${cleanJson(streams.map(withTime))}\n` : textOf(streams));
  });
  const remove = addSubcommand(
    group,
    'remove',
    'remove a stream',
    undefined,
    'Its receiver gets nothing more until it creates another; to prevent that, remove it from sharedSignals.',
  );
  remove.argument('<id>', 'ID of the stream, as listed').action(async (id: string) => {
    const installation = await findInstallation(remove.opts(), processContext);
    const recorded = { isRoutine: () => false, isBulk: () => false };
    const removed = await withStore(installation, ({ store, recordOf }) =>
      removeStream(store, (event) => recordOf(recorded, event), id),
    );
    if (removed === null)
      throw new Error(
        `There is no stream ${cleanLine(id)}: ${processContext.command} streams list shows all`,
      );
    processContext.write(`The stream ${cleanLine(id)} of ${cleanLine(removed.clientId)} is removed.\n`);
  });
}

function withTime({ createdAt, ...stream }: ListedStream): object {
  return { ...stream, createdAt: timeOf(createdAt) };
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
