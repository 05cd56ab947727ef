/** The agent command lines: how each is configured, signs in by its own OAuth code, and is asked to call a tool. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { onTestFinished } from 'vitest';

/** Folders and addresses that an agent sees; its home is empty at first. */
export interface Sandbox {
  readonly home: string;
  /** The agents' `node_modules/.bin`. */
  readonly bin: string;
  readonly resource: string;
  readonly model: string;
}

export interface Agent {
  readonly name: string;
  /** Environment beside `PATH`, `HOME` and the browser. */
  environment?(sandbox: Sandbox): Readonly<Record<string, string>>;
  /** Files below the home folder: path and content. */
  files?(sandbox: Sandbox): Readonly<Record<string, string | object>>;
  /** Signs in: opens the authorization URL in a browser and ends when the callback has arrived. */
  readonly signIn: Command;
  /** Sends a prompt without a terminal. */
  readonly ask: Command;
  /** It refreshes an access token in the last minute of its life, before a call. */
  readonly refreshesEarly?: true;
  /** It knows the tools of an earlier session before it is connected, and sends its first request without the token that it has saved. */
  readonly connectsLate?: true;
}

interface Command {
  readonly command: readonly string[];
  /** It requires a terminal, which `script` supplies. */
  readonly terminal?: true;
  /** Questions in the order in which it asks, each with the keys that answer it. Needs a terminal. */
  readonly answers?: readonly (readonly [question: RegExp, keys: string])[];
  /** It keeps running after the sign-in: the file below its home that it saves last. */
  readonly saves?: RegExp;
}

const PROMPT = 'Who am I? Call the tool whoami.';

const promptGemini = ['--skip-trust', '--yolo', '-m', 'gemini-2.5-flash', '-p', PROMPT];

export const agents: readonly Agent[] = [
  {
    name: 'Claude Code',
    refreshesEarly: true,
    environment: ({ model }) => ({
      ANTHROPIC_BASE_URL: model,
      ANTHROPIC_API_KEY: 'none',
      DISABLE_AUTOUPDATER: '1',
      ENABLE_TOOL_SEARCH: 'false',
      // Otherwise it sends the prompt without the tools of a server that has not listed them after five seconds.
      MCP_TIMEOUT: '200000',
      MCP_CONNECT_TIMEOUT_MS: '200000',
    }),
    files: ({ resource }) => ({ '.claude.json': { mcpServers: { notes: { type: 'http', url: resource } } } }),
    signIn: { command: ['claude', 'mcp', 'login', 'notes'], terminal: true },
    ask: { command: ['claude', '-p', PROMPT, '--allowedTools', 'mcp__notes__whoami'] },
  },
  {
    name: 'Codex CLI',
    refreshesEarly: true,
    files: ({ resource, model }) => ({
      '.codex/config.toml': [
        'model = "mock"',
        'model_provider = "mock"',
        '[model_providers.mock]',
        'name = "mock"',
        `base_url = "${model}"`,
        'wire_api = "responses"',
        '[mcp_servers.notes]',
        `url = "${resource}"`,
        '',
      ].join('\n'),
    }),
    signIn: { command: ['codex', 'mcp', 'login', 'notes'] },
    ask: {
      command: [
        'codex',
        'exec',
        '--skip-git-repo-check',
        '--dangerously-bypass-approvals-and-sandbox',
        PROMPT,
      ],
    },
  },
  {
    name: 'opencode',
    files: ({ resource, model }) => ({
      '.config/opencode/opencode.json': {
        mcp: { notes: { type: 'remote', url: resource } },
        model: 'mock/mock',
        provider: {
          mock: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: model, apiKey: 'none' },
            models: { mock: { name: 'mock', tool_call: true } },
          },
        },
      },
    }),
    signIn: { command: ['opencode', 'mcp', 'auth', 'notes'] },
    ask: { command: ['opencode', 'run', PROMPT] },
  },
  {
    name: 'Gemini CLI',
    environment: ({ model }) => ({ GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: model }),
    files: ({ resource }) => ({
      '.gemini/settings.json': {
        mcpServers: { notes: { httpUrl: resource, trust: true, oauth: { enabled: true } } },
        security: { auth: { selectedType: 'gemini-api-key' } },
      },
    }),
    signIn: {
      command: ['gemini', ...promptGemini],
      terminal: true,
      answers: [[/continue\? \[Y\/n\]/, 'Y\r']],
    },
    ask: { command: ['gemini', ...promptGemini] },
  },
  {
    name: 'Copilot CLI',
    connectsLate: true,
    environment: ({ model }) => ({
      COPILOT_PROVIDER_BASE_URL: model,
      COPILOT_MODEL: 'mock',
      COPILOT_OFFLINE: 'true',
      COPILOT_AUTO_UPDATE: 'false',
    }),
    files: ({ resource }) => ({
      '.copilot/mcp-config.json': { mcpServers: { notes: { type: 'http', url: resource, tools: ['*'] } } },
    }),
    signIn: {
      command: ['copilot', '-i', '/mcp auth notes', '--allow-all-tools'],
      terminal: true,
      saves: /mcp-tools\/.+\.json/,
    },
    ask: { command: ['copilot', '-p', PROMPT, '--allow-all-tools'] },
  },
  {
    name: 'Cline',
    files: ({ model }) => ({
      '.cline/data/settings/providers.json': {
        version: 1,
        lastUsedProvider: 'openai-compatible',
        modes: {},
        providers: {
          'openai-compatible': {
            settings: { provider: 'openai-compatible', apiKey: 'none', model: 'mock', baseUrl: model },
            updatedAt: '2026-01-01T00:00:00.000Z',
            tokenSource: 'manual',
          },
        },
      },
    }),
    signIn: {
      command: ['cline', 'mcp', 'install', 'notes', '{resource}', '--transport', 'http'],
      terminal: true,
      answers: [
        [/Server name/, '\r'],
        [/Server type/, '\r'],
        [/Server URL/, '\r'],
        [/Authentication/, '\r'],
        [/OAuth client ID/, '\r'],
        [/OAuth client secret/, '\r'],
      ],
    },
    ask: { command: ['cline', '-P', 'openai-compatible', PROMPT] },
  },
];

/** Writes the agent's files and the browser that records each URL instead of opening it. */
export async function prepare(agent: Agent, sandbox: Sandbox): Promise<void> {
  for (const [path, content] of Object.entries(agent.files?.(sandbox) ?? {})) {
    const file = join(sandbox.home, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  }
  const browsers = join(sandbox.home, 'browsers');
  await mkdir(browsers);
  const browser = join(browsers, 'xdg-open');
  await writeFile(browser, `#!/bin/sh\nfor url; do echo "$url" >> '${join(sandbox.home, OPENED)}'; done\n`);
  await chmod(browser, 0o755);
  for (const name of ['open', 'www-browser', 'x-www-browser', 'sensible-browser']) {
    await symlink(browser, join(browsers, name));
  }
}

/** The file to which the browser adds each URL. */
const OPENED = 'opened-urls';

export interface Run {
  readonly child: ChildProcess;
  output(): string;
  /** Resolves to the exit code. */
  ended(): Promise<number | null>;
}

export function start(agent: Agent, sandbox: Sandbox, { command, terminal, answers = [] }: Command): Run {
  const browsers = join(sandbox.home, 'browsers');
  const words = command.map((word) => word.replace('{resource}', sandbox.resource));
  const quoted = words.map((word) => `'${word}'`).join(' ');
  const [file = '', ...args] = terminal
    ? ['script', '-qec', `stty cols 120 rows 40; exec ${quoted}`, '/dev/null']
    : words;
  const child = spawn(file, args, {
    cwd: sandbox.home,
    env: {
      PATH: [browsers, sandbox.bin, dirname(process.execPath), process.env['PATH']].join(':'),
      HOME: sandbox.home,
      TERM: 'xterm-256color',
      DISPLAY: ':0',
      BROWSER: join(browsers, 'xdg-open'),
      ...agent.environment?.(sandbox),
    },
    stdio: [terminal ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  let unread = '';
  const pending = [...answers];
  const read = (chunk: Buffer): void => {
    output += String(chunk);
    unread += String(chunk);
    const [question, keys = ''] = pending[0] ?? [];
    if (question?.test(stripVTControlCharacters(unread)) !== true) return;
    pending.shift();
    unread = '';
    child.stdin?.write(keys);
  };
  child.stdout?.on('data', read);
  child.stderr?.on('data', read);
  const run = { child, output: () => output };
  onTestFinished(() => stop(run));
  const exit = once(child, 'exit');
  const ended = async () => {
    const code = await Promise.race([exit, sleep(90_000, undefined, { ref: false })]);
    if (code === undefined) throw new Error(`it does not end: ${output}`);
    return code[0] as number | null;
  };
  return { ...run, ended };
}

/** Ends the agent and what it started. */
export function stop({ child }: Pick<Run, 'child'>, signal: NodeJS.Signals = 'SIGKILL'): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The whole process group has ended.
  }
}

/** Ends what an agent has left running in a process group of its own, such as the hub of Cline: it has the same home. */
export async function stopDaemons({ home }: Pick<Sandbox, 'home'>): Promise<void> {
  for (const pid of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(pid)) continue;
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    if (environment.split('\0').includes(`HOME=${home}`)) stopProcess(Number(pid));
  }
}

function stopProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

/** The authorization URLs that the agent has opened in a browser so far. */
export async function openedUrls({ home }: Sandbox): Promise<readonly string[]> {
  const urls = await readFile(join(home, OPENED), 'utf8').catch(() => '');
  return urls.split('\n').filter((line) => line.includes('response_type=code'));
}
