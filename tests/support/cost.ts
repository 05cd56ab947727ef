/** What work costs, told in the processor's time: the clock on the wall also counts what else the machine is busy with. */

/** Milliseconds of the processor that a piece of work took, with all threads of this process. */
export async function costOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  return since(before);
}

/** The same of work that is done when it returns. */
export function costHere(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  return since(before);
}

function since(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
