/** The fixture of the shared suite: an issuer, a guard behind one adapter, and an application that records requests. */
import { parseChallenges } from '@portcullis/protocol';
import { afterEach, beforeAll, expect } from 'vitest';
import { createGuard, type GuardEvent, type GuardOptions, type ResourceOptions } from '../../src/index.ts';
import { createIssuer, NOW, RESOURCE, type TestIssuer } from '../support/issuer.ts';
import type { Application, Received, Sent, Start, Started } from '../support/server.ts';

export const METADATA = 'https://api.example/.well-known/oauth-protected-resource/mcp';
export const METADATA_PATH = '/.well-known/oauth-protected-resource/mcp';

/** Options of a test; the fixture adds the others. */
export type Options = Partial<Omit<GuardOptions, 'resources'> & ResourceOptions> & {
  readonly resources?: readonly ResourceOptions[];
};

export interface Stage {
  readonly issuer: TestIssuer;
  /** Requests that reached the application, which a rejection must not change. */
  readonly reached: readonly string[];
  readonly events: readonly GuardEvent[];
  serve(options?: Options, application?: Application): Promise<Started>;
  /** Clears the recorded requests. */
  forget(): void;
  expectRefusal(response: Received, status: number, error: string | undefined): void;
}

export const echo: Application = ({ method, body, principal, fields }) => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ method, body, principal, fields }),
});

export const bearer = (token: string, ...more: Sent['headers'] & object): Sent => ({
  headers: [['authorization', `Bearer ${token}`], ...more],
});

/** Creates the fixture for the tests of the `describe` that it is called in. */
export function createStage(start: Start): Stage {
  let issuer: TestIssuer;
  let started: Started | undefined;
  let reached: string[] = [];
  let events: GuardEvent[] = [];

  beforeAll(async () => {
    issuer = await createIssuer();
  });

  afterEach(async () => {
    await started?.close();
    started = undefined;
    reached = [];
    events = [];
  });

  return {
    get issuer() {
      return issuer;
    },
    get reached() {
      return reached;
    },
    get events() {
      return events;
    },
    forget() {
      reached = [];
    },
    async serve(options = {}, application = echo) {
      const guard = createGuard({
        ...(options.resources === undefined && { resource: RESOURCE, defaultScopes: ['notes:read'] }),
        verifier: issuer.verifier(),
        clock: () => NOW,
        events: (event) => events.push(event),
        ...options,
      } as GuardOptions);
      started = await start(guard, async (seen) => {
        reached.push(`${seen.method} ${seen.principal.subject}`);
        return application(seen);
      });
      return started;
    },
    expectRefusal(response, status, error) {
      expect(response.status).toBe(status);
      expect(response.json['error']).toBe(error);
      expect(reached).toEqual([]);
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(response.text).not.toMatch(/at \w+ \(|node:|\.ts:/);
      const [challenge, ...others] = parseChallenges(response.headers.get('www-authenticate'));
      expect(others).toEqual([]);
      expect(challenge?.scheme).toBe('Bearer');
      expect(challenge?.parameters.get('error')).toBe(error);
      expect(challenge?.parameters.get('resource_metadata')).toBe(METADATA);
    },
  };
}
