/** A tiny MCP server on standard input and output, as the argument of `node -e`. Its tools misbehave on request. */

const source = String.raw`
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
const waiting = new Map();
let asked = 0;
const tasks = [];
const subscribed = new Set();
let capabilities = {};
let level = 'warning';
const ask = (method, params) => new Promise((resolve) => { const id = 'q' + ++asked; waiting.set(id, resolve); send({ id, method, params }); });
const text = (id, value) => send({ id, result: { content: [{ type: 'text', text: String(value) }] } });
const tools = {
  echo: ({ text: said }, id) => text(id, said),
  mirror: (given, id) => send({ id, result: { content: [], structuredContent: { given } } }),
  pid: (_, id) => text(id, process.pid),
  env: (_, id) => text(id, JSON.stringify(process.env)),
  user: (_, id) => text(id, JSON.stringify([process.getuid(), process.getgid(), process.getgroups()])),
  processes: (_, id) => text(id, require('node:fs').readdirSync('/proc').filter((name) => /^\d+$/.test(name)).join(' ')),
  cwd: (_, id) => text(id, process.cwd()),
  capabilities: (_, id) => text(id, JSON.stringify(capabilities)),
  meta: (_, id, _token, meta) => text(id, JSON.stringify(meta)),
  hang: () => console.error('hanging'),
  wait: ({ seconds }, id) => setTimeout(() => text(id, 'waited'), seconds * 1000),
  block: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  crash: () => process.exit(3),
  garbage: (_, id) => { process.stdout.write('not JSON\n{"also": "no message"}\n'); text(id, 'after garbage'); },
  deep: (_, id) => { const data = '['.repeat(6000) + ']'.repeat(6000); for (const head of ['"method":"notifications/message","params":{"level":"error","data":', '"method":"notifications/progress","params":{"progressToken":1,"progress":1,"data":', '"id":"deep","method":"elicitation/create","params":{"message":']) process.stdout.write('{"jsonrpc":"2.0",' + head + data + '}}\n'); text(id, 'after deep messages'); },
  huge: () => process.stdout.write('x'.repeat(20_000_000)),
  memory: (_, id) => { globalThis.kept = Buffer.alloc(400 * 1024 * 1024, 1); text(id, 'kept'); },
  child: (_, id) => { const { pid } = require('node:child_process').spawn('sleep', ['1000'], { stdio: 'ignore' }); text(id, pid); },
  log: (_, id) => { console.error('a line\u001b[31m of the server'); text(id, 'logged'); },
  level: (_, id) => text(id, level),
  say: ({ at }, id) => { for (const level of at) send({ method: 'notifications/message', params: { level, data: 'said' } }); text(id, 'done'); },
  async ask(_, id) { const { result, error } = await ask('elicitation/create', { message: 'Name?', requestedSchema: { type: 'object', properties: {} } }); text(id, result ? result.content.name : 'error ' + error.code); },
  async request({ method, params }, id) { const { error } = await ask(method, params); text(id, error ? 'error ' + error.code : 'accepted'); },
  async askBetween(_, id) { process.stdout.cork(); text(id, 'asks afterwards'); const asked = ask('roots/list', {}); process.stdout.uncork(); globalThis.between = (await asked).error?.code; },
  askUnawaited: (_, id) => { ask('elicitation/create', { message: 'Name?' }).then(({ error }) => { globalThis.between = error?.code; }); text(id, 'does not wait'); },
  between: (_, id) => text(id, globalThis.between),
  askLater: (_, id) => setTimeout(() => tools.ask(_, id), 400),
  async progress(_, id, token) { for (const progress of [1, 2]) send({ method: 'notifications/progress', params: { progressToken: token, progress, total: 2 } }); text(id, 'done'); },
  task: (_, id) => { tasks.push('task-1'); const task = { taskId: 'task-1', status: 'working' }; send({ method: 'notifications/tasks/status', params: task }); send({ id, result: { task } }); },
  change: (_, id) => { send({ method: 'notifications/tools/list_changed' }); text(id, 'changed'); },
  touch: ({ uri }, id) => { send({ method: 'notifications/resources/updated', params: { uri } }); text(id, 'touched'); },
  subscribed: (_, id) => text(id, [...subscribed].join()),
  leave: (left, id) => { globalThis.left = left; text(id, 'left'); },
  async deliver(_, id) { const { text: said } = globalThis.left; send({ method: 'notifications/message', params: { level: 'error', data: said } }); send({ method: 'notifications/tasks/status', params: { taskId: said, status: 'working' } }); send({ method: 'notifications/resources/updated', params: { uri: said } }); const { error } = await ask('elicitation/create', { message: said }); text(id, error ? 'error ' + error.code : 'accepted'); },
  cancelled: (_, id) => text(id, JSON.stringify(globalThis.cancelledIds ?? [])),
};
const methods = {
  initialize: ({ protocolVersion, capabilities: own }, id) => { capabilities = own; if (process.env.REFUSE) return process.exit(1); send({ id, result: { protocolVersion, capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} }, serverInfo: { name: 'tiny', version: '1' }, instructions: 'Be brief.' } }); },
  'tasks/get': ({ taskId }, id) => taskId === 'task-1' ? send({ id, result: { taskId, status: 'working' } }) : send({ id, error: { code: -32603, message: 'a task of another process: ' + taskId } }),
  'tasks/list': (_, id) => send({ id, result: { tasks: tasks.map((taskId) => ({ taskId, status: 'working' })) } }),
  ping: (_, id) => send({ id, result: {} }),
  'tools/list': (_, id) => send({ id, result: { tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } })) } }),
  'tools/call': (params, id) => tools[params.name] ? tools[params.name](params.arguments ?? {}, id, params._meta?.progressToken, params._meta) : send({ id, error: { code: -32602, message: 'Unknown tool' } }),
  'resources/subscribe': ({ uri }, id) => { subscribed.add(uri); send({ id, result: {} }); },
  'resources/unsubscribe': ({ uri }, id) => { subscribed.delete(uri); send({ id, result: {} }); },
  'logging/setLevel': (params, id) => { level = params.level; send({ id, result: {} }); },
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  // As the official SDKs do with what is no JSON-RPC message.
  if (message.params === null) return;
  if (message.method === undefined) { waiting.get(message.id)?.(message); return; }
  if (message.method === 'notifications/cancelled') (globalThis.cancelledIds ??= []).push(message.params.requestId);
  if (message.id === undefined) return;
  const method = methods[message.method];
  if (method) method(message.params, message.id);
  else send({ id: message.id, error: { code: -32601, message: 'Method not found' } });
}).on('close', () => process.exit());
`;

/** The command of a stdio backend. */
export const TINY: readonly [string, ...string[]] = [process.execPath, '-e', source];
