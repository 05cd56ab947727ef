/** The cost of work as CPU time: wall time also counts other work on the machine. */

/** CPU milliseconds of asynchronous work, in all threads of this process. */
export async function costOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  return since(before);
}

/** The same for synchronous work. */
export function costHere(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  return since(before);
}

function since(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
