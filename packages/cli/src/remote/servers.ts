/** `servers` of a remote server: those behind its gateway, and the review of their tools. */
import { SettingsError } from '../errors.ts';
import { cleanLine } from '../terminal/clean.ts';
import type { RemoteCommand, RemoteCommands, RemoteTask } from './command.ts';

export const serverCommands: RemoteCommands = {
  'servers list': { columns: ['path', 'name', 'health', 'backend'], request: 'GET /servers' },
  'servers test': {
    description: 'Reach the backend of each server from there, and say what is wrong.',
    columns: ['path', 'failed', 'tools', 'reason'],
    request: 'POST /servers/test',
    body: ([path]) => ({ ...(path !== undefined && { path }) }),
  },
  'servers review': {
    columns: ['server', 'tool', 'hash', 'since'],
    request: 'GET /tools/pending',
    query: ([server]) => ({ server }),
  },
  'servers approve': decision('approve'),
  'servers reject': decision('reject'),
};

function decision(decided: 'approve' | 'reject'): RemoteCommand {
  return {
    options: [['--hash <hash>', 'of the one tool, as review shows it: refused if it has changed since']],
    isChange: true,
    act: (task) => decide(decided, task),
  };
}

/** The hash of each definition says which one is meant: one that changes meanwhile is refused. */
async function decide(
  decision: 'approve' | 'reject',
  { api, args, flags, terminal }: RemoteTask,
): Promise<void> {
  const [server = '', ...names] = args;
  if (names.length > 0 === (flags['all'] === true))
    throw new SettingsError(['Name tools, or use --all: not both.']);
  if (flags['hash'] !== undefined && names.length !== 1)
    throw new SettingsError(['--hash is that of one tool: name it alone.']);
  const pending = await api.list('/tools/pending', { server });
  const unknown = names.find((name) => !pending.some(({ tool }) => tool === name));
  if (unknown !== undefined || pending.length === 0)
    throw new SettingsError([
      `No tool ${cleanLine(unknown ?? '')} of ${cleanLine(server)} waits for approval: servers review shows all that do`,
    ]);
  const chosen = pending.filter(({ tool }) => flags['all'] === true || names.includes(String(tool)));
  for (const { tool, hash: current } of chosen) {
    const hash = flags['hash'] ?? current;
    await api.send({ method: 'POST', path: `/tools/${decision}`, body: { server, tool, hash } });
  }
  terminal.print(`${decision === 'approve' ? 'Approved' : 'Rejected'}: ${chosen.length}.\n`);
}
