/** Starts the identity provider of an organization as a second process, whose assertions our server accepts. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface Organization {
  readonly issuer: string;
  /** Signs an ID-JAG that lives for five minutes, or another JWT by its header. */
  sign(claims: object, header?: object): Promise<string>;
  stop(): Promise<void>;
}

const script = fileURLToPath(new URL('organization-process.ts', import.meta.url));

export async function startOrganization(): Promise<Organization> {
  const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [issuer] = (await once(createInterface(child.stdout), 'line')) as [string];
  return {
    issuer,
    async sign(claims, header = {}) {
      const response = await fetch(`${issuer}/sign`, {
        method: 'POST',
        body: JSON.stringify({ claims, header }),
      });
      return response.text();
    },
    async stop() {
      const gone = once(child, 'exit');
      child.stdin.end();
      await gone;
    },
  };
}
