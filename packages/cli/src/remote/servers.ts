/** `servers` of a remote server: those behind its gateway, and the review of their tools. */
import { SettingsError } from '../errors.ts';
import { cleanLine } from '../terminal/clean.ts';
import { type RemoteCommand, type RemoteTask, remote } from './command.ts';

export const serverCommands: readonly RemoteCommand[] = [
  remote('servers list', 'list the servers behind the gateway', {
    columns: ['path', 'name', 'health', 'backend'],
    request: 'GET /servers',
  }),
  remote('servers test', 'reach the backend of each server from there, and say what is wrong', {
    args: [['[path]', 'only the server at this path']],
    columns: ['path', 'failed', 'tools', 'reason'],
    request: 'POST /servers/test',
    body: ([path]) => ({ ...(path !== undefined && { path }) }),
  }),
  remote('servers review', 'show new and changed tools, which stay hidden until they are approved', {
    args: [['[path]', 'path of a server']],
    columns: ['server', 'tool', 'hash', 'since'],
    request: 'GET /tools/pending',
    query: ([server]) => ({ server }),
  }),
  ...(['approve', 'reject'] as const).map((decision) =>
    remote(`servers ${decision}`, `${decision} definitions of tools as they were reviewed`, {
      args: [
        ['<path>', 'path of the server'],
        ['[tools...]', 'names of tools'],
      ],
      options: [
        ['--all', 'all tools that wait'],
        ['--hash <hash>', 'of the one tool, as review shows it: refused if it has changed since'],
      ],
      isChange: true,
      act: (task) => decide(decision, task),
    }),
  ),
];

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
