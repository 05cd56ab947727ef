/**
 * The suite's scenarios for authorization servers, against ours with default settings; a user signs in and consents. None of them
 * is of an extension: those are run between our client and our server in `tests/interop/extensions.test.ts`.
 */
import { owner, startPortcullis } from '../support/portcullis.ts';
import { reservePort } from '../support/ports.ts';
import { createUser } from '../support/user.ts';
import { issuesOf, type Result, runSuite } from './suite.ts';

/** The scenarios; the second one needs what the first one found. */
const SCENARIOS = ['authorization-server-metadata-endpoint', 'authorization-code-grant'];

const CLIENT_ID = 'conformance';

/** Runs them; a server that does not even start fails them all. */
export async function runAuthorizationServer(
  outputFolder: string,
): Promise<readonly (Result & { readonly scenario: string })[]> {
  try {
    return await runScenarios(outputFolder);
  } catch (error) {
    return SCENARIOS.map((scenario) => ({ scenario, passed: false, checks: '', issues: [String(error)] }));
  }
}

async function runScenarios(
  outputFolder: string,
): Promise<readonly (Result & { readonly scenario: string })[]> {
  const port = await reservePort();
  const client = {
    client_id: CLIENT_ID,
    client_name: 'Conformance suite',
    redirect_uris: [`http://127.0.0.1:${port}/callback`],
    token_endpoint_auth_method: 'none',
  };
  const portcullis = await startPortcullis({ clients: [client] });
  const user = createUser(owner);
  let visiting: Promise<unknown> | null = null;
  let said = '';
  try {
    const { output } = await runSuite(
      [
        ...['authorization', '--url', portcullis.url, '--client-id', CLIENT_ID],
        ...['--resource', portcullis.resource, '--port', String(port), '-o', outputFolder],
      ],
      (text) => {
        said += text;
        const url = /^(https?:\/\/\S+\/authorize\?\S+)\n/m.exec(said)?.[1];
        if (url !== undefined) visiting ??= user.authorize(url).then((callback) => fetch(callback));
      },
    );
    await visiting;
    return SCENARIOS.map((scenario) => check(scenario, output));
  } finally {
    await portcullis.stop();
  }
}

/** The suite's own summary decides; what it printed for the scenario explains. */
function check(scenario: string, output: string): Result & { readonly scenario: string } {
  const summary = new RegExp(`^(\\S) ${scenario}: (\\d+) passed, (\\d+) failed(.*)$`, 'm').exec(output);
  const [, mark, succeeded = '0', failed = '0', warnings = ''] = summary ?? [];
  const passed = mark === '✓' && Number(succeeded) > 0 && Number(failed) === 0 && warnings === '';
  const part =
    output.split('=== Running scenario: ').find((text) => text.startsWith(`${scenario} `)) ?? output;
  const checks = `${succeeded}/${Number(succeeded) + Number(failed)}`;
  return { scenario, passed, checks, issues: passed ? [] : issuesOf(part) };
}
