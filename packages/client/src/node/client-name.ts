/** The name under which a program registers: what runs, for which host, and on which computer, so that its user recognizes it. */
import { hostname } from 'node:os';
import { basename, dirname } from 'node:path';

/** The parts of a name; those that are unknown are left out. */
export interface ClientNameParts {
  /** What the user started. */
  readonly program: string;
  /** The program that started it, such as an MCP host. */
  readonly host?: string | null;
  /** The computer; this one's host name by default, `null`: not named. */
  readonly machine?: string | null;
}

/** Characters of each part. */
const MAX_PART = 40;

/**
 * Composes the `client_name` of a registration, for example `Portcullis connect (Claude Desktop on laptop-7)`. Users see it
 * on the consent and connections pages, and the authorization server stores it.
 * @see RFC 7591 §2
 */
export function composeClientName({
  program,
  host = null,
  machine = machineName(),
}: ClientNameParts): string {
  const [what, by, where] = [program, host ?? '', machine ?? ''].map(clean);
  if (by === '') return where === '' ? `${what}` : `${what} on ${where}`;
  return where === '' ? `${what} (${by})` : `${what} (${by} on ${where})`;
}

/** The name of the running program: its file, or the folder of a file with a generic name. */
export function defaultClientName(script: string = process.argv[1] ?? ''): string {
  const name = programName(script);
  return composeClientName({ program: name === '' ? 'Portcullis client' : name });
}

const GENERIC: ReadonlySet<string> = new Set([
  ...['', 'index', 'main', 'server', 'app', 'cli', 'bin', 'start', 'run', 'client'],
  ...['src', 'dist', 'build', 'lib', 'out'],
]);

function programName(script: string): string {
  const file = basename(script).replace(/\.[cm]?[jt]sx?$/, '');
  if (!GENERIC.has(file)) return file;
  const folder = dirname(script);
  return folder === script || folder === '.' ? '' : programName(folder);
}

/** The first label of the host name: the rest names the network. */
function machineName(): string | null {
  const [label = ''] = hostname().split('.');
  return label === '' || label === 'localhost' ? null : label;
}

/** One line of plain text. */
function clean(part: string): string {
  const plain = part
    .replace(/[\p{C}\p{Zl}\p{Zp}<>]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return plain.length > MAX_PART ? `${plain.slice(0, MAX_PART - 1).trimEnd()}…` : plain;
}
