/** The memory of a process group, read from the system. */
import { readdir, readFile } from 'node:fs/promises';

const PAGE = 4096;

/**
 * Bytes of resident memory by process group; empty where the system does not say.
 * @see proc_pid_stat(5)
 */
export async function measureGroups(): Promise<ReadonlyMap<number, number>> {
  const names = await readdir('/proc').catch(() => []);
  const sizes = new Map<number, number>();
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue;
    const text = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
    // The name of the program stands in parentheses and may hold anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const group = Number(fields[2]);
    if (group > 0) sizes.set(group, (sizes.get(group) ?? 0) + Number(fields[21]) * PAGE);
  }
  return sizes;
}
