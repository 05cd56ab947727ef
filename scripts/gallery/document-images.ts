/** The pictures of README and site, from real runs: the consent page in both modes, and a terminal with `protect` and `call`. */
import type { ChildProcess } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { createComputer } from '../../packages/cli/test/support/command.ts';
import { owner } from '../../tests/support/portcullis.ts';
import { createUser } from '../../tests/support/user.ts';
import { drawTerminal, type Recording } from './terminal.ts';
import { walk } from './walk.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The commands are shown with the port that users have, and without the secret of the link. */
const PROTECT = 'portcullis protect -- npx -y @modelcontextprotocol/server-everything';
const CALL = 'portcullis call http://localhost:8484/mcp echo message=hi';

const SHOW_USUAL_PORT = `
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replace(/localhost:\\d+/, 'localhost:8484');
`;

export async function takeDocumentImages(browser: Browser): Promise<void> {
  const folder = join(root, 'docs/images');
  await mkdir(folder, { recursive: true });
  const options = { locale: 'en-GB', deviceScaleFactor: 1.5, only: 'consent-verified' };
  await walk(browser, options, async (page) => {
    await page.setViewportSize({ width: 420, height: 640 });
    await page.evaluate(SHOW_USUAL_PORT);
    const card = await page.locator('main').boundingBox();
    const margin = 16;
    const clip =
      card === null ? undefined : { x: 0, y: card.y - margin, width: 420, height: card.height + 2 * margin };
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({
        path: join(folder, `consent-${colorScheme}.png`),
        ...(clip !== undefined && { clip }),
      });
    }
  });
  const recordings = await record(browser);
  await writeFile(
    join(folder, 'terminal.svg'),
    drawTerminal(recordings, 'portcullis protect and portcullis call'),
  );
}

/** Runs both commands: the first account is created in a browser in between, and the second signs in by itself. */
async function record(browser: Browser): Promise<readonly Recording[]> {
  const bin = await mkdtemp(join(tmpdir(), 'portcullis-images-'));
  const server = join(root, 'tests/documents/mcp-server.ts');
  // The server of the documents in place of a download.
  await writeFile(join(bin, 'npx'), `#!/bin/sh\nexec '${process.execPath}' '${server}'\n`);
  await chmod(join(bin, 'npx'), 0o755);
  const computer = createComputer(createUser(owner));
  const path = `${bin}${delimiter}${computer.environment['PATH']}`;
  const [, ...protect] = PROTECT.split(' ');
  const child = computer.start(protect, { PATH: path, PORTCULLIS_PORT: '0', XDG_CONFIG_HOME: bin });
  try {
    const printed = await readUntil(child, /^ready \S+$/m);
    const origin = /^ready (\S+)$/m.exec(printed)?.[1] ?? '';
    await createAccount(browser, /\S+\/setup\?\S+/.exec(printed)?.[0] ?? '');
    const [, ...call] = CALL.replace('http://localhost:8484', origin).split(' ');
    const called = await computer.runProcess(call);
    const shown = (text: string) =>
      text
        .replaceAll(origin, 'http://localhost:8484')
        .replaceAll(/token=\S+/g, 'token=…')
        .replaceAll(/(\/authorize\?)\S+/g, '$1…')
        .trim();
    const paragraphs = shown(printed).split('\n\n');
    const account = paragraphs.find((paragraph) => paragraph.includes('/setup?')) ?? '';
    const lines = shown(`${called.errors}${called.output}`).split('\n');
    return [
      { command: PROTECT, output: account.split('\n') },
      { command: CALL, output: lines.filter((line) => !line.startsWith('Waiting')) },
    ];
  } finally {
    child.kill();
    computer.close();
    await rm(bin, { recursive: true });
  }
}

function readUntil(child: ChildProcess, pattern: RegExp): Promise<string> {
  let text = '';
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        if (pattern.test(text)) resolve(text);
      });
    child.once('exit', () => reject(new Error(text)));
  });
}

async function createAccount(browser: Browser, link: string): Promise<void> {
  const page = await browser.newPage();
  await page.goto(link);
  const values = { email: owner.email, password: owner.password, password_again: owner.password };
  for (const [name, value] of Object.entries(values)) await page.fill(`[name=${name}]`, value);
  await page.click('form button[type=submit], form button:not([type])');
  await page.waitForLoadState();
  await page.close();
}
