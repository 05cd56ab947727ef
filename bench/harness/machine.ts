/** The machine during a measurement: CPU pinning, CPU time and memory of a process, and load by others. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';

/** The core of the measured server, and the core of the load and everything else. */
export const SERVER_CORE = 0;
export const LOAD_CORE = 1;

/** Whether processes can be pinned to a core. If not, the report says so, and results are less reliable. */
const canPin: boolean = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0;

/** The command that runs a command on one core; on all cores for `null`, or when pinning is unavailable. */
export function onCore(core: number | null, command: readonly [string, ...string[]]): [string, ...string[]] {
  return canPin
    ? ['taskset', '-c', core === null ? `0-${cpus().length - 1}` : String(core), ...command]
    : [...command];
}

/** Moves this process with all its threads to the core of the load. */
export function standAside(): void {
  if (canPin) spawnSync('taskset', ['-acp', String(LOAD_CORE), String(process.pid)]);
}

/** Seconds of CPU time that a process has used on all threads; `NaN` if unknown. */
export function cpuOf(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const spent = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'));
    return spent.reduce((sum, text) => sum + Number(text.split(' ')[0]), 0) / 1e9;
  } catch {
    return Number.NaN;
  }
}

/** Resident megabytes of a process; `NaN` if unknown. */
export function memoryOf(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
  } catch {
    return Number.NaN;
  }
}

/** Seconds that all cores together were busy, in hundredths, whatever the process. */
export function busySeconds(): number {
  try {
    const [, ...ticks] = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '').split(/\s+/);
    const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = ticks.map(Number);
    return (user + nice + system + irq + softirq + steal) / 100;
  } catch {
    return Number.NaN;
  }
}

/** One line for the report. */
export function describeMachine(): string {
  const [first] = cpus();
  const pinned = canPin
    ? `server on core ${SERVER_CORE}, load on core ${LOAD_CORE}`
    : 'NOT pinned: there is no taskset, or only one core';
  return `${cpus().length} × ${first?.model.trim() ?? 'unknown'}, Node ${process.versions.node}; ${pinned}`;
}
