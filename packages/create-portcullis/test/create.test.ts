/** `npm create portcullis`: flags, the written files, and the started server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { sourceFlags } from '../../../tests/support/source-flags.ts';
import { runHere } from '../../cli/test/support/in-process.ts';
import { setUp } from '../src/set-up.ts';

const bin = fileURLToPath(new URL('../bin.js', import.meta.url));

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'create-portcullis-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface Running {
  readonly child: ChildProcess;
  output(): string;
}

function start(folder: string, args: readonly string[]): Running {
  const child = spawn(process.execPath, [...sourceFlags(), bin, ...args], {
    cwd: folder,
    env: { PATH: '/nowhere', HOME: folder, PORTCULLIS_PORT: '0', PORTCULLIS_DATABASE: ':memory:' },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdin.end();
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  return { child, output: () => output };
}

const { output: schema } = await runHere(['config', 'schema'], { folder: tmpdir(), environment: {} });

/** Runs it here in a folder, because its own process and that of the command cost a second. */
async function run(folder: string, args: readonly string[]): Promise<{ code: number; output: string }> {
  let output = '';
  const written = new PassThrough().setEncoding('utf8').on('data', (text: string) => {
    output += text;
  }) as unknown as NodeJS.WriteStream;
  const typed = Readable.from([]) as unknown as NodeJS.ReadStream;
  const before = process.cwd();
  process.chdir(folder);
  try {
    const streams = { input: typed, output: written, errors: written };
    const code = await setUp(args, streams, async () => schema);
    return { code, output };
  } finally {
    process.chdir(before);
  }
}

const read = (folder: string, path: string) => readFileSync(join(folder, path), 'utf8');
const LOCAL = ['--sign-in', 'accounts', '--location', 'local', '--no-start'];

const secretFolder = mkdtempSync(join(tmpdir(), 'create-portcullis-'));
writeFileSync(join(secretFolder, 'secret'), 's3cret\n');
afterAll(() => rmSync(secretFolder, { recursive: true }));

const GOOGLE = [
  ...['--protect', 'http://127.0.0.1:9/mcp', '--location', 'local', '--no-start'],
  ...['--sign-in', 'google', '--client-id', 'abc', '--client-secret-file', join(secretFolder, 'secret')],
];

describe('npm create portcullis', () => {
  // Three processes start from source, one after the other.
  it('writes the files, and starts the server', async () => {
    const folder = createFolder();
    const { child, output } = start(folder, ['--protect', 'http://127.0.0.1:9/mcp', ...LOCAL.slice(0, -1)]);
    await expect.poll(output).toMatch(/^ready \S+$/m);
    const [, url = ''] = /^ready (\S+)$/m.exec(output()) ?? [];
    expect(output()).toContain('the next time: cd portcullis && npm install && npm start\n');
    expect((await fetch(`${url}/mcp`, { method: 'POST', body: '{}' })).status).toBe(401);
    expect(JSON.parse(read(folder, 'portcullis/portcullis.json'))).toEqual({
      $schema: './portcullis.schema.json',
      servers: [{ path: '/mcp', name: '127.0.0.1:9', backend: { url: 'http://127.0.0.1:9/mcp' } }],
    });
    expect(JSON.parse(read(folder, 'portcullis/portcullis.schema.json'))).toHaveProperty(
      'properties.servers',
    );
    child.kill('SIGTERM');
    expect(await once(child, 'close')).toEqual([0, null]);
  });

  it('exits with 1 after a mistake, in a folder with nothing written', async () => {
    const folder = createFolder();
    const { child, output } = start(folder, ['--protet', 'x']);
    expect(await once(child, 'close')).toEqual([1, null]);
    expect([output(), readdirSync(folder)]).toEqual([
      expect.stringContaining("Unknown option '--protet'"),
      [],
    ]);
  });

  it('with every flag it asks nothing', async () => {
    const folder = createFolder();
    const { code, output } = await run(folder, ['mine', '--protect', 'npx -y "my server" --flag', ...LOCAL]);
    expect([code, output.includes('?')]).toEqual([0, false]);
    expect(JSON.parse(read(folder, 'mine/portcullis.json'))['servers']).toEqual([
      { path: '/mcp', name: 'my server', backend: { command: ['npx', '-y', 'my server', '--flag'] } },
    ]);
  });

  it('writes the port of a server on this computer, and refuses one behind a proxy', async () => {
    const folder = createFolder();
    const local = await run(folder, ['mine', '--protect', 'node server.js', ...LOCAL, '--port', '8605']);
    expect(local.code).toBe(0);
    expect(JSON.parse(read(folder, 'mine/portcullis.json'))).toHaveProperty('port', 8605);
    expect(read(folder, 'mine/compose.yaml')).toContain('http://127.0.0.1:8605/readyz');
    const elsewhere = ['theirs', '--protect', 'node server.js', '--sign-in', 'accounts', '--port', '8605'];
    const { code, output } = await run(folder, [...elsewhere, '--location', 'https://auth.example.com']);
    expect([code, output]).toEqual([1, expect.stringContaining('--port is for a server on this computer')]);
    expect(readdirSync(folder)).toEqual(['mine']);
  });

  it('refuses a folder that has one of its files, before any question, and leaves it as it was', async () => {
    const folder = createFolder();
    mkdirSync(join(folder, 'portcullis'));
    writeFileSync(join(folder, 'portcullis/portcullis.json'), 'mine');
    const { code, output } = await run(folder, []);
    expect([code, output]).toEqual([
      1,
      expect.stringMatching(/has portcullis\.json already, and nothing is overwritten/),
    ]);
    expect([readdirSync(join(folder, 'portcullis')), read(folder, 'portcullis/portcullis.json')]).toEqual([
      ['portcullis.json'],
      'mine',
    ]);
  });

  it.each([
    { description: 'an unknown flag', args: ['--protet', 'x'], said: "Unknown option '--protet'" },
    { description: 'two folders', args: ['a', 'b'], said: 'name one folder, not a and b' },
    {
      description: 'a port in the public URL',
      args: [...LOCAL.slice(0, 2), '--protect', 'x', '--location', 'https://a.example:8443'],
      said: '--location: https://a.example:8443 must have no port',
    },
    {
      description: 'a secret file that is missing',
      args: ['--client-secret-file', 'none'],
      said: '--client-secret-file: ENOENT',
    },
    {
      description: 'no word about who may sign in with Google',
      args: [...GOOGLE],
      said: 'no answer: give it with --allow',
    },
    ...[
      ['https://gitlab.com'],
      ['https://appleid.apple.com'],
      ['https://slack.com'],
      ['https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0'],
      ['microsoft-entra', '--tenant', '9188040d-6c67-4c5b-b112-36a304b66dad'],
    ].map((provider) => ({
      description: `no word about who may sign in with ${provider.join(' ')}`,
      args: [...GOOGLE, '--sign-in', ...provider],
      said: 'no answer: give it with --allow',
    })),
    {
      description: 'an address at Entra, which verifies none',
      args: [...GOOGLE, '--sign-in', 'microsoft-entra', '--tenant', 'abc', '--allow', 'ada@example.org'],
      said: '--allow: Entra says of no address that it is verified',
    },
    {
      description: 'a domain in which everyone can get an address',
      args: [...GOOGLE, '--allow', 'Gmail.com'],
      said: '--allow: everyone can get an address in Gmail.com: name addresses, or type anyone',
    },
    {
      description: 'an address at GitHub, which does not tell it',
      args: [...GOOGLE, '--sign-in', 'github', '--allow', 'ada@example.org'],
      said: '--allow: name GitHub users',
    },
    {
      description: 'no answer where there is no terminal to ask in',
      args: ['--sign-in', 'accounts'],
      said: 'no answer: give it with --protect',
    },
    {
      description: 'a URL of another kind of server',
      args: ['--protect', 'ftp://example.com', ...LOCAL],
      said: '--protect: ftp://example.com must be an http or https URL, or a command',
    },
    {
      description: 'an unknown provider',
      args: ['--protect', 'node server.js', '--sign-in', 'gogle'],
      said: '--sign-in: gogle must be accounts, google, github, microsoft-entra, okta, or the https URL',
    },
  ])('$description: says so, exits with 1 and writes nothing', async ({ args, said }) => {
    const folder = createFolder();
    const { code, output } = await run(folder, args);
    expect([code, output, readdirSync(folder)]).toEqual([1, expect.stringContaining(said), []]);
  });
});

const PUBLIC = [
  '--protect',
  'http://localhost:3000/mcp',
  '--location',
  'https://auth.example.com',
  '--no-start',
];
const CLIENT = ['--client-id', 'abc', '--client-secret-file', 'secret'];

interface Service {
  readonly environment?: Readonly<Record<string, string>>;
  readonly read_only?: boolean;
  readonly volumes?: readonly string[];
}

describe('the written files', () => {
  it.each([
    ['google', 'example.org, example.com', { emailDomains: ['example.org', 'example.com'] }],
    ['google', 'ada@gmail.com', { emails: ['ada@gmail.com'] }],
    ['google', 'anyone', undefined],
    ['github', 'octocat,hub-ot', { claims: { login: ['octocat', 'hub-ot'] } }],
    ['github', '583231', { subjects: ['583231'] }],
    ['https://login.example.com', 'example.org', { emailDomains: ['example.org'] }],
  ])('allow the users of %s that were named: %s', async (provider, who, allowedUsers) => {
    const folder = createFolder();
    writeFileSync(join(folder, 'secret'), 's3cret\n');
    const args = ['.', ...PUBLIC, '--sign-in', provider, ...CLIENT, '--allow', who];
    expect(await run(folder, args)).toMatchObject({ code: 0 });
    const [written] = JSON.parse(read(folder, 'portcullis.json')).identityProviders;
    expect(written.allowedUsers).toEqual(allowedUsers);
  });

  it.each([
    { provider: 'accounts', args: [] },
    { provider: 'google', args: [...CLIENT, '--allow', 'example.org'] },
    { provider: 'github', args: [...CLIENT, '--allow', 'octocat'] },
    { provider: 'microsoft-entra', args: [...CLIENT, '--tenant', '8eaef023-2b34-4da1-9baa-8bc8c9d6a490'] },
    { provider: 'okta', args: [...CLIENT, '--domain', 'example.okta.com'] },
    { provider: 'https://login.example.com', args: CLIENT },
  ])(
    'for a public server with $provider are valid, and keep secrets to their owner',
    async ({ provider, args }) => {
      const folder = createFolder();
      writeFileSync(join(folder, 'secret'), 's3cret\n');
      const { code, output } = await run(folder, ['.', ...PUBLIC, '--sign-in', provider, ...args]);
      expect([code, output]).toEqual([0, expect.stringContaining('docker compose up')]);
      const { services } = parse(read(folder, 'compose.yaml'));
      const { PORTCULLIS_TRUSTED_PROXIES } = services.portcullis.environment;
      expect(
        await runHere(['config', 'check', 'portcullis.json'], {
          folder,
          environment: { PORTCULLIS_TRUSTED_PROXIES },
        }),
      ).toMatchObject({
        code: 0,
        errors: '',
      });
      const secrets = existsSync(join(folder, 'secrets')) ? readdirSync(join(folder, 'secrets')) : [];
      expect(secrets.length).toBe(provider === 'accounts' ? 0 : 1);
      const modeOf = (path: string) => statSync(join(folder, path)).mode & 0o777;
      expect(modeOf('.env')).toBe(0o600);
      expect(read(folder, 'portcullis.json')).not.toContain('s3cret');
      if (secrets.length > 0) {
        // Not its owner is the user in the container, into which only the file is mounted.
        expect([modeOf('secrets'), modeOf(`secrets/${secrets[0]}`)]).toEqual([0o700, 0o644]);
        expect(services.portcullis.volumes).toContain(
          `./secrets/${secrets[0]}:/app/secrets/${secrets[0]}:ro`,
        );
        expect(output).toMatch(/redirect URI .*: https:\/\/auth\.example\.com\/callback\/[a-z]+$/m);
      }
    },
  );

  it('a container build sends package.json only, with Podman and with Docker', async () => {
    const folder = createFolder();
    await run(folder, ['.', ...PUBLIC, '--sign-in', 'accounts']);
    for (const file of ['.containerignore', '.dockerignore'])
      expect(read(folder, file)).toBe('*\n!package.json\n');
  });

  it('the public compose file has PostgreSQL and a proxy, and passes its address and the database on', async () => {
    const folder = createFolder();
    await run(folder, ['.', ...PUBLIC, '--sign-in', 'accounts']);
    const { services }: { services: Readonly<Record<string, Service>> } = parse(read(folder, 'compose.yaml'));
    expect(Object.keys(services)).toEqual(['portcullis', 'postgres', 'proxy']);
    const { environment = {}, read_only } = services['portcullis'] ?? {};
    expect(read_only).toBe(true);
    expect(environment).toMatchObject({
      PORTCULLIS_DATABASE: expect.stringMatching(
        /^postgres:\/\/portcullis:\$\{POSTGRES_PASSWORD:\?[^}]+\}@postgres\/portcullis$/,
      ),
      PORTCULLIS_TRUSTED_PROXIES: '10.84.84.0/24',
    });
    // From inside a container, this computer has another name. No variable hides the file.
    expect(environment).not.toHaveProperty('PORTCULLIS_SERVERS');
    expect(JSON.parse(read(folder, 'portcullis.json'))).toMatchObject({
      servers: [{ name: 'auth.example.com', backend: { url: 'http://host.docker.internal:3000/mcp' } }],
    });
    expect(read(folder, 'Caddyfile')).toBe('auth.example.com {\n\treverse_proxy portcullis:8484\n}\n');
    // The variables are valid settings.
    const settings = {
      ...environment,
      PORTCULLIS_DATABASE: 'postgres://portcullis:secret@postgres/portcullis',
    };
    expect(
      await runHere(['config', 'check', 'portcullis.json'], { folder, environment: settings }),
    ).toMatchObject({
      code: 0,
    });
  });

  it.each([
    ['public', [...PUBLIC, '--sign-in', 'accounts']],
    ['local', [...LOCAL, '--protect', 'http://127.0.0.1:9/mcp']],
  ])(
    'the %s compose file gives calls as much time to complete as deploy/compose.yaml',
    async (_, options) => {
      const folder = createFolder();
      await run(folder, ['.', ...options]);
      const timesOf = (file: string) => {
        const { stop_grace_period: grace, environment } = parse(file).services.portcullis;
        return [grace, environment.PORTCULLIS_SHUTDOWN_TIMEOUT];
      };
      const deployed = readFileSync(new URL('../../../deploy/compose.yaml', import.meta.url), 'utf8');
      expect(timesOf(read(folder, 'compose.yaml'))).toEqual(timesOf(deployed));
      expect(timesOf(deployed)).toEqual(['330s', '310']);
    },
  );

  it('the local compose file is reachable from this computer only, with SQLite in a volume', async () => {
    const folder = createFolder();
    await run(folder, ['.', '--protect', 'env LEVEL=1 node notes.js', ...LOCAL]);
    expect(JSON.parse(read(folder, 'portcullis.json'))).toMatchObject({ servers: [{ name: 'notes' }] });
    const { services, volumes } = parse(read(folder, 'compose.yaml'));
    const { network_mode, ports, environment } = services.portcullis;
    // The default host is a loopback address.
    expect([Object.keys(services), network_mode, ports, environment, Object.keys(volumes)]).toEqual([
      ['portcullis'],
      'host',
      undefined,
      { HOME: '/tmp', PORTCULLIS_SHUTDOWN_TIMEOUT: '310' },
      ['data'],
    ]);
  });
});
