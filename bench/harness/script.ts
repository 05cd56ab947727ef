/** Measurements that are separate programs: their output is copied to the report. */
import { spawn } from 'node:child_process';
import type { Part } from './figures.ts';
import { onCore } from './machine.ts';
import { nodeCommand } from './server.ts';

export async function runScript(title: string, file: string): Promise<Part> {
  // It pins its processes itself.
  const [command, ...rest] = onCore(null, nodeCommand(file));
  const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  for await (const chunk of child.stdout) output += String(chunk);
  const status = child.exitCode ?? (await new Promise((resolve) => child.once('exit', resolve)));
  return {
    title,
    notes: [`As \`${file}\` prints it.`, `\`\`\`\n${output.trimEnd()}\n\`\`\``],
    columns: [],
    rows: [],
    samples: output,
    issues: status === 0 ? [] : [`${file} ended with ${status}`],
  };
}
