/** Stylesheet and scripts of the console, named by content hash so that browsers cache them forever. */
import { createAssetFiles, minifyStyle } from '@portcullis/authorization-server/pages';
import { PALETTE_SCRIPT } from '../find/palette-script.ts';
import { CONSOLE_PATH } from '../links.ts';
import { ACTIVITY_SCRIPT } from './activity-script.ts';
import { OVERVIEW_SCRIPT } from './overview-script.ts';
import { CONSOLE_STYLE } from './style.ts';

/** Of every page: local times and copy buttons. Plain JavaScript as browsers get it: no library, no other origin. */
const CONSOLE_SCRIPT: string = `'use strict';
(() => {
  const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
  for (const time of document.querySelectorAll('time[datetime]')) time.title = exact.format(new Date(time.dateTime));
  for (const button of document.querySelectorAll('[data-copy]')) {
    if (!navigator.clipboard) break;
    const label = button.textContent;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = label; }, 2000);
    });
    button.hidden = false;
  }
})();
`;

/** Scripts by the name with which a page asks for them; `console` is on every page. */
const SCRIPTS: Readonly<Record<string, string>> = {
  console: CONSOLE_SCRIPT + PALETTE_SCRIPT,
  activity: ACTIVITY_SCRIPT,
  overview: OVERVIEW_SCRIPT,
};

/** @param theme custom properties that the stylesheet uses */
export function createConsoleAssets(theme: string) {
  const { add, respond } = createAssetFiles(`${CONSOLE_PATH}/assets/`, "default-src 'none'; sandbox");
  /** Path of the stylesheet. */
  const stylesheet = add('css', 'text/css; charset=utf-8', minifyStyle(theme + CONSOLE_STYLE));
  const paths = new Map(
    Object.entries(SCRIPTS).map(([name, text]) => [name, add('js', 'text/javascript; charset=utf-8', text)]),
  );
  return {
    stylesheet,
    /** Paths of scripts, that of every page first. */
    scriptsOf: (names: readonly string[]): readonly string[] =>
      ['console', ...names].flatMap((name) => paths.get(name) ?? []),
    /** Serves everything below `/admin/assets/`. `null`: there is no such file. */
    respond,
  };
}
