/** The cost of work as CPU time: wall time also counts other work on the machine. */

/** CPU milliseconds of asynchronous work, in all threads of this process. */
export async function costOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** CPU milliseconds of synchronous work, in this thread. */
export function costHere(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
