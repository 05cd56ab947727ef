/** The official conformance suite as a command: its scenarios, the transports that each runs on, and one run. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { sourceFlags } from '../support/source-flags.ts';

const root: string = fileURLToPath(new URL('../..', import.meta.url));

const command: string = await joinSuite(
  new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);

/** The suite as one file: it is started seventy times, and would spend half of a start on finding the modules that it imports. */
async function joinSuite(entry: URL): Promise<string> {
  const file = join(root, 'node_modules/.cache/conformance-suite.mjs');
  // Where it reads its requirements.
  const define = { 'import.meta.url': JSON.stringify(entry.href) };
  const bundle = await rolldown({ input: fileURLToPath(entry), platform: 'node', transform: { define } });
  await bundle.write({ file, codeSplitting: false });
  return file;
}

/** One scenario on one transport. */
export interface Run {
  readonly scenario: string;
  /** Its protocol revision. */
  readonly transport: string;
  /** Revisions that the suite lists the scenario for, or that it belongs to an extension. */
  readonly revisions: readonly string[];
  readonly options: readonly string[];
}

export interface Result {
  readonly passed: boolean;
  /** Checks that succeeded, as far as the suite counts them. */
  readonly checks: string;
  /** What failed, as the suite words it. */
  readonly issues: readonly string[];
}

/** Milliseconds for a scenario: the suite's own limit of half a minute is too short on a busy machine. */
export const LIMIT = '240000';

const STATEFUL = '2025-11-25';
const STATELESS = '2026-07-28';

/** Lists the authorization scenarios for clients, each on every transport that it exists on. */
export async function listClientRuns(outputFolder: string): Promise<readonly Run[]> {
  const { output } = await runSuite(['list', '--client']);
  return [...output.matchAll(/^\s*- (auth\/\S+) \[([^\]]+)\]/gm)].flatMap(
    ([, scenario = '', revisions = '']) =>
      transportsOf(revisions.split(',')).map(({ transport, options }) => ({
        scenario,
        transport,
        revisions: revisions.split(',').map((revision) => revision.trim()),
        options: ['--scenario', scenario, '-o', outputFolder, ...options],
      })),
  );
}

/** Extensions stand outside of the revisions, so they are run on both transports; the oldest revision's on the stateful one. */
function transportsOf(revisions: readonly string[]): readonly Pick<Run, 'transport' | 'options'>[] {
  if (revisions.includes('extension')) {
    return [
      { transport: STATEFUL, options: [] },
      { transport: STATELESS, options: ['--spec-version', STATELESS, '--force'] },
    ];
  }
  const transports = [STATEFUL, STATELESS].filter((transport) => revisions.includes(transport));
  if (transports.length === 0) return [{ transport: STATEFUL, options: [] }];
  return transports.map((transport) => ({ transport, options: ['--spec-version', transport] }));
}

/** Runs one scenario against the client under test; a warning fails it, as the suite itself requires. */
export async function runClient({ options }: Run): Promise<Result> {
  const client = `${process.execPath} ${sourceFlags().join(' ')} tests/conformance/everything-client.ts`;
  const { code, output } = await runSuite(['client', '--timeout', LIMIT, '--command', client, ...options]);
  const skipped = output.includes('SKIPPED: scenario');
  return {
    passed: code === 0 && !skipped,
    checks: countOf(output),
    issues: code === 0 ? [] : issuesOf(output),
  };
}

/** Runs the suite's command; every line that it prints can be listened to. */
export async function runSuite(
  args: readonly string[],
  hear: (text: string) => void = () => undefined,
): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [command, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      hear(text);
    });
  }
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, output };
}

function countOf(output: string): string {
  return /Passed: (\d+\/\d+)/.exec(output)?.[1] ?? '';
}

export function issuesOf(output: string): readonly string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the suite colours what it prints
  const lines = output.replace(/\x1b\[\d+m/g, '').split('\n');
  const issues = lines
    .filter((line) => /\] (?:FAILURE|WARNING) /.test(line))
    .map((line) => line.replace(/^\S+ /, ''));
  return issues.length > 0 ? issues : lines.filter((line) => line.trim() !== '').slice(-8);
}
