/** Events in a real rsyslog, whose parser of RFC 5424 reads them from the TCP connection. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startPortcullisHere } from '../../support/portcullis-here.ts';
import { reservePort } from '../../support/ports.ts';

const isInstalled = await promisify(execFile)('rsyslogd', ['-v']).then(
  () => true,
  () => false,
);
if (!isInstalled) console.warn('skipped: the Debian package rsyslog is not installed');

/** Writes each message as JSON, with the fields that rsyslog has parsed. */
const configurationOf = (folder: string, port: number) => `
module(load="imtcp")
input(type="imtcp" port="${port}" address="127.0.0.1" ruleset="events")
template(name="parsed" type="string" string="%syslogfacility-text% %syslogseverity-text% %app-name% %msgid% %protocol-version% %msg%\\n")
ruleset(name="events") { action(type="omfile" file="${folder}/events.log" template="parsed") }
`;

async function startRsyslog(): Promise<{ readonly port: number; read(): Promise<string> }> {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-rsyslog-'));
  const port = await reservePort();
  await writeFile(join(folder, 'rsyslog.conf'), configurationOf(folder, port));
  const files = ['-f', join(folder, 'rsyslog.conf'), '-i', join(folder, 'rsyslog.pid')];
  const process = spawn('rsyslogd', ['-n', '-C', ...files], { stdio: 'ignore' });
  onTestFinished(async () => {
    process.kill('SIGTERM');
    if (process.exitCode === null) await once(process, 'exit');
    await rm(folder, { recursive: true });
  });
  return { port, read: () => readFile(join(folder, 'events.log'), 'utf8').catch(() => '') };
}

describe.skipIf(!isInstalled)('rsyslog (skipped where it is not installed)', () => {
  it.each(['json', 'ocsf'] as const)(
    'parses events as %s, and none is lost while it starts',
    async (format) => {
      const { port, read } = await startRsyslog();
      const url = `syslog+tcp://127.0.0.1:${port}`;
      const portcullis = await startPortcullisHere({
        eventExports: [{ name: 'siem', url, format, types: ['request.rejected'] }],
      });
      onTestFinished(portcullis.stop);
      for (let count = 0; count < 20; count += 1) {
        const body = new URLSearchParams({
          grant_type: 'authorization_code',
          client_id: `unknown ${count} ü`,
        });
        await fetch(`${portcullis.url}/token`, { method: 'POST', body });
      }
      const lines = async () => (await read()).split('\n').filter((line) => line !== '');
      await expect.poll(lines).toHaveLength(20);
      for (const line of await lines()) {
        const [, fields, json = ''] = /^(.*?) ?(\{.*\})$/.exec(line) ?? [];
        expect(fields).toMatch(/^audit warning portcullis request\.rejected 1$/);
        const { type, metadata } = JSON.parse(json);
        expect(format === 'json' ? type : metadata.event_code).toBe('request.rejected');
      }
    },
  );
});
