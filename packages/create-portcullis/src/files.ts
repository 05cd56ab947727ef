/** The files that answers lead to: path → content. */
import { type Answers, DEFAULT_PORT, type SignIn, secretFile, serverName } from './answers.ts';
import { backendInContainer, composeFile } from './compose.ts';

export interface NewFile {
  readonly path: string;
  readonly text: string;
  /** Only its owner can read it: by its own mode, or by that of its new folder. */
  readonly isSecret?: boolean;
}

export interface FileFacts {
  /** Of the packages. */
  readonly version: string;
  /** JSON Schema of the configuration file. */
  readonly schema: string;
  /** A new password for the database. */
  readonly password: string;
}

const SCHEMA = 'portcullis.schema.json';
/** The configuration file. */
export const CONFIGURATION = 'portcullis.json';

export function filesFor(answers: Answers, { version, schema, password }: FileFacts): readonly NewFile[] {
  const { signIn, location } = answers;
  const isPublic = location.kind === 'public';
  return [
    { path: CONFIGURATION, text: json(configuration(answers)) },
    { path: SCHEMA, text: schema },
    { path: 'package.json', text: json(manifest(version)) },
    { path: 'compose.yaml', text: composeFile(answers) },
    { path: 'Containerfile', text: CONTAINERFILE },
    // One for Podman, one for Docker, which does not read the other.
    { path: '.containerignore', text: IGNORED },
    { path: '.dockerignore', text: IGNORED },
    { path: '.gitignore', text: 'node_modules/\ndata/\nsecrets/\n.env\n' },
    ...(isPublic ? [{ path: 'Caddyfile', text: caddyFile(location.url) }] : []),
    ...(isPublic ? [{ path: '.env', text: `POSTGRES_PASSWORD=${password}\n`, isSecret: true }] : []),
    ...(signIn.kind === 'provider'
      ? [{ path: secretFile(signIn.provider), text: `${signIn.clientSecret}\n`, isSecret: true }]
      : []),
  ];
}

function configuration(answers: Answers): object {
  const { backend, signIn, location, port } = answers;
  return {
    $schema: `./${SCHEMA}`,
    ...(location.kind === 'public' && { publicUrl: location.url }),
    ...(port !== Number(DEFAULT_PORT) && { port }),
    servers: [{ path: '/mcp', name: serverName(answers), backend: backendInContainer(answers) ?? backend }],
    ...(signIn.kind === 'provider' && {
      identityProviders: [identityProvider(signIn)],
      localAccounts: false,
    }),
  };
}

function identityProvider(signIn: Extract<SignIn, { kind: 'provider' }>): object {
  const { provider, parameter, clientId, allowedUsers } = signIn;
  const clientSecret = { file: secretFile(provider) };
  const credentials = { clientId, clientSecret, ...(allowedUsers && { allowedUsers }) };
  if (provider.startsWith('https://')) {
    const scopes = ['openid', 'email', 'profile'];
    return {
      id: 'company',
      name: new URL(provider).host,
      kind: { issuer: provider },
      ...credentials,
      scopes,
    };
  }
  const named = { 'microsoft-entra': { tenant: parameter }, okta: { domain: parameter } }[provider];
  return { preset: provider, ...named, ...credentials };
}

function manifest(version: string): object {
  return {
    name: 'portcullis-server',
    private: true,
    type: 'module',
    scripts: { start: `portcullis up --config ${CONFIGURATION}` },
    dependencies: { '@portcullis/cli': version },
  };
}

const caddyFile = (url: string) => `${new URL(url).host} {\n\treverse_proxy portcullis:8484\n}\n`;

/** Secrets, data and settings do not enter the build context, nor an image. */
const IGNORED = '*\n!package.json\n';

const CONTAINERFILE = `FROM docker.io/library/node:24-slim
WORKDIR /app
COPY package.json ./
RUN npm install --omit=dev --ignore-scripts && mkdir data && chown node data
ENV NODE_ENV=production
USER node
EXPOSE 8484
# Without npm in between, which would not pass signals on.
ENTRYPOINT ["node", "node_modules/@portcullis/cli/bin.js"]
CMD ["up", "--config", "${CONFIGURATION}"]
`;

const json = (value: object) => `${JSON.stringify(value, null, 2)}\n`;
