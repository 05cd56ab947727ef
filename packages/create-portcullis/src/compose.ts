/** The compose file: on this computer one service with SQLite; in public also PostgreSQL, and a proxy that obtains certificates. */
import { type Answers, type Backend, secretFile } from './answers.ts';

export function composeFile(answers: Answers): string {
  return answers.location.kind === 'public' ? publicFile(answers) : localFile(answers);
}

/** A string, which a shell runs: podman-compose of Debian 12 cannot pass quotes in a list. */
const probe = (port: number) =>
  `node -e "fetch('http://127.0.0.1:${port}/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"`;

/** The service itself: not root, nothing writable but its data and a temporary folder. */
function service(answers: Answers, environment: Readonly<Record<string, string>>): string {
  const volumes = ['./portcullis.json:/app/portcullis.json:ro', 'data:/app/data'];
  // The file, not its folder, which only its owner on this computer may enter: the user in the container is another one.
  if (answers.signIn.kind === 'provider') {
    const file = secretFile(answers.signIn.provider);
    volumes.push(`./${file}:/app/${file}:ro`);
  }
  return `  portcullis:
    build: { context: ., dockerfile: Containerfile }
    restart: on-failure
    init: true
    read_only: true
    # npx of a stdio server unpacks it there.
    tmpfs: ["/tmp:exec,mode=1777"]
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
    # Above drain (3 s) and shutdownTimeout, which is above limits.firstByte of the servers (300 s): no call is lost.
    stop_grace_period: 330s
    environment:
${Object.entries({ HOME: '/tmp', PORTCULLIS_SHUTDOWN_TIMEOUT: '310', ...environment })
  .map(([name, value]) => `      ${name}: ${quote(value)}`)
  .join('\n')}
    volumes:
${volumes.map((volume) => `      - ${quote(volume)}`).join('\n')}
    healthcheck:
      test: ${quote(probe(answers.port))}
      interval: 10s
      timeout: 5s
      start_period: 20s
`;
}

/** A server on this computer has another address from inside a container, where a public server runs; `null`: it has its own. */
export function backendInContainer({ backend, location }: Answers): Backend | null {
  if (location.kind !== 'public' || !('url' in backend)) return null;
  const url = new URL(backend.url);
  if (!/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)) return null;
  url.hostname = 'host.docker.internal';
  return { url: url.href };
}

/** On the network of the computer: its loopback addresses are the server's, and nothing else reaches it. */
function localFile(answers: Answers): string {
  return `# On this computer: docker compose up --build, and http://localhost:${answers.port}
services:
${service(answers, {})}    network_mode: host

volumes:
  data:
`;
}

function publicFile(answers: Answers): string {
  const database = `postgres://portcullis:${PASSWORD}@postgres/portcullis`;
  const environment = {
    PORTCULLIS_HOST: '0.0.0.0',
    PORTCULLIS_DATABASE: database,
    PORTCULLIS_TRUSTED_PROXIES: SUBNET,
  };
  return `# On the machine of the public URL: docker compose up --build --detach
services:
${service(answers, environment)}    extra_hosts: ["host.docker.internal:host-gateway"]
    depends_on:
      postgres: { condition: service_healthy }

  postgres:
    image: docker.io/library/postgres:18
    restart: unless-stopped
    environment:
      POSTGRES_USER: portcullis
      POSTGRES_PASSWORD: "${PASSWORD}"
    volumes: ["postgres:/var/lib/postgresql"]
    healthcheck:
      test: [CMD, pg_isready, --username, portcullis]
      interval: 5s

  proxy:
    image: docker.io/library/caddy:2
    restart: unless-stopped
    ports: ["80:80", "443:443", "443:443/udp"]
    volumes:
      - "./Caddyfile:/etc/caddy/Caddyfile:ro"
      - "certificates:/data"
    depends_on:
      portcullis: { condition: service_healthy }

networks:
  default:
    ipam:
      config: [{ subnet: ${SUBNET} }]

volumes:
  data:
  postgres:
  certificates:
`;
}

/** Replaced by compose, from the file .env. */
const PASSWORD = `\${POSTGRES_PASSWORD:?is in .env}`;

/** Of the containers: the proxy's address is in it, and its X-Forwarded headers are trusted. */
const SUBNET = '10.84.84.0/24';

/** A YAML string; JSON is a subset. */
const quote = (text: string) => JSON.stringify(text);
