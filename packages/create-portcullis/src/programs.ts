/** The programs that this one starts: the `portcullis` command that it depends on, and Docker. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const command = fileURLToPath(new URL('bin.js', import.meta.resolve('@portcullis/cli/package.json')));

/** Of this package, and of the command. */
export const packageVersion: string = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
).version;

/** The JSON Schema of the configuration file. */
export async function printSchema(): Promise<string> {
  const child = startCommand(['config', 'schema'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let schema = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    schema += text;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`portcullis config schema ended with ${code}`);
  return schema;
}

/** Runs the server until it is stopped. @returns its exit code */
export function startHere(folder: string, configuration: string): Promise<number> {
  return passSignals(startCommand(['up', '--config', configuration], { cwd: folder, stdio: 'inherit' }));
}

/** @returns the exit code, or null where there is no Docker */
export async function startWithCompose(folder: string): Promise<number | null> {
  const probe = spawn('docker', ['compose', 'version'], { stdio: 'ignore' });
  const hasDocker = await once(probe, 'close').then(
    ([code]) => code === 0,
    () => false,
  );
  if (!hasDocker) return null;
  return passSignals(
    spawn('docker', ['compose', 'up', '--build', '--detach'], { cwd: folder, stdio: 'inherit' }),
  );
}

function startCommand(args: readonly string[], options: Parameters<typeof spawn>[2]): ChildProcess {
  // In a clone, the condition that names its sources.
  return spawn(process.execPath, [...process.execArgv, command, ...args], options);
}

/** Ctrl+C reaches both processes; the server decides when it has finished. */
async function passSignals(child: ChildProcess): Promise<number> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      // A terminal has sent SIGINT to the whole group.
      if (signal === 'SIGTERM') child.kill(signal);
    });
  const [code, signal]: (number | string | null)[] = await once(child, 'close');
  return typeof code === 'number' ? code : signal === null ? 1 : 128;
}
