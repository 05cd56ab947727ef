/** `policy` of a remote server: what its rules decide, and for whom. */
import { readObject } from '../admin/policy/explain.ts';
import { type RemoteCommand, remote, textsOf } from './command.ts';

const OPERATION = [
  ['--server <path>', 'path of the server'],
  ['--tool <name>', 'name of a tool'],
  ['--prompt <name>', 'name of a prompt'],
  ['--resource <uri>', 'URI of a resource'],
  ['--method <name>', 'another method'],
  ['--client <id>', '`client_id` of the app'],
] as const;
const NAMES = ['server', 'tool', 'prompt', 'resource', 'method', 'client'];

export const policyCommands: readonly RemoteCommand[] = [
  remote('policy explain', 'explain what is decided about an operation, and by which rule', {
    options: [
      ...OPERATION,
      ['--user <account>', 'email address or ID of an account'],
      ['--scopes <list>', 'scopes of the token; what the user can be granted by default'],
      ['--arguments <json>', 'arguments of the call; conditions that read them stay open without'],
    ],
    isChange: false,
    request: 'POST /policy/explain',
    body: (_args, { scopes, arguments: text, ...flags }) => ({
      ...textsOf(flags, ...NAMES, 'user'),
      ...(typeof scopes === 'string' && { scopes: scopes.split(/[ ,]+/).filter((scope) => scope !== '') }),
      ...(typeof text === 'string' && { arguments: readObject(text, '--arguments') }),
    }),
  }),
  remote('policy who-can', 'list the users who may perform an operation', {
    options: [...OPERATION, ['--cursor <next>', '`next` of 1,000 accounts before']],
    request: 'GET /policy/who-can',
    query: (_args, flags) => textsOf(flags, ...NAMES, 'cursor'),
  }),
];
