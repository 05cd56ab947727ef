/** A real, headless Chromium for tests, from the binary of `@sparticuz/chromium`: no system package. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';
import { exclusively } from './install.ts';

const run = promisify(execFile);
const cache = fileURLToPath(new URL('../../node_modules/.cache/chromium', import.meta.url));

const extraction = fileURLToPath(new URL('./extract-chromium.ts', import.meta.url));

/** Where the unpacked fonts lie: the package's own configuration names folders of another machine, and without fonts Chromium ends. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(cache, 'fonts/fonts')}</dir>
  <cachedir>${join(cache, 'fonts/cache')}</cachedir>
</fontconfig>
`;

/** Milliseconds for each step in a page: less than a test's timeout, so that the error names what is missing. */
const PATIENCE = 100_000;

/**
 * The caller closes it. The binary's own recommended flags switch web security off; only those that a
 * container needs are used here, so that cookies, CORS and content security policies act as in real life.
 */
export async function launchChromium(): Promise<Browser> {
  const folder = await extract();
  const browser = await chromium.launch({
    // On a busy machine a start takes seconds; what hangs is ended by the test's own limit.
    timeout: 120_000,
    executablePath: join(folder, 'chromium'),
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
    env: { ...process.env, FONTCONFIG_PATH: join(folder, 'fonts') },
  });
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    // Transitions between pages cost as much processor time as the pages.
    const context = await newContext({ reducedMotion: 'reduce', ...options });
    context.setDefaultTimeout(PATIENCE);
    return context;
  };
  return browser;
}

/** Extracts once, beside the installed packages; a draft is renamed into place, so an interrupted run does no harm. */
async function extract(): Promise<string> {
  if (existsSync(cache)) return cache;
  return exclusively(`${cache}.lock`, async () => {
    if (existsSync(cache)) return cache;
    const draft = await mkdtemp(`${cache}-`);
    await run(process.execPath, [extraction], { env: { ...process.env, TMPDIR: draft } });
    for (const path of [draft, join(draft, 'chromium')]) await chmod(path, 0o755);
    await writeFile(join(draft, 'fonts/fonts.conf'), FONTS);
    await rename(draft, cache).catch(() => rm(draft, { recursive: true }));
    return cache;
  });
}
