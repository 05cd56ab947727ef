/** The supervising process of a multi-process server: it serves no requests itself. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { ProcessContext } from '../../process-context.ts';
import { createLog } from '../log.ts';
import { createLogOutput, survive } from '../log-output.ts';
import type { Prepared } from '../prepare.ts';
import { writeRunFile } from '../run-file.ts';
import type { StopSignal } from '../stop-signal.ts';
import { processCount } from './process-count.ts';
import { createSupervisor } from './supervisor.ts';

/**
 * Runs a server until it is stopped. SIGHUP replaces its processes one after another.
 * @param limit milliseconds for the processes to exit
 * @returns the exit code
 */
export async function runProcesses(
  { settings }: Prepared,
  { streams, environment }: ProcessContext,
  stopSignal: Promise<StopSignal>,
  limit: number,
): Promise<number> {
  survive(streams.errors);
  const output = createLogOutput(streams.output, (dropped) => log({ type: 'log.recovered', dropped }));
  const log = createLog(settings.log, (line) => output.write(`${line}\n`));
  const port = settings.port === 0 ? await findFreePort(settings.host) : settings.port;
  const supervisor = createSupervisor(processCount(settings), port, log);
  process.on('SIGHUP', () => void supervisor.restart());

  const starting = supervisor.start();
  const signal = await Promise.race([starting.then(() => undefined), stopSignal]);
  if (signal !== undefined) {
    await supervisor.stop(signal, limit);
    return 0;
  }
  const outcome = await starting;
  if (outcome.started === null) return outcome.code;
  const { running, banner } = outcome.started;
  const removeRunFile = await writeRunFile({ ...running, pid: process.pid }, environment);
  output.write(banner);
  await supervisor.stop(await stopSignal, limit);
  removeRunFile();
  return 0;
}

/** All processes must use the same port to share it. The first one reports an unusable address. */
async function findFreePort(host: string): Promise<number> {
  const server = createServer();
  try {
    await once(server.listen(0, host), 'listening');
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  } catch {
    return 0;
  } finally {
    server.close();
  }
}
