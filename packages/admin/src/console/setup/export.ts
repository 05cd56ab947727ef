/** What is set up becomes configuration: an entry to add to the file, as text and as a file of its own. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import type { Administration } from '../../operations/administration.ts';
import { copyText, quoteForShell, section } from '../ui/parts.ts';

/** @param list of the configuration that the entry belongs to @param outcome what happens once it is there */
export function exportSection(
  { configFile: file }: Administration,
  list: 'servers' | 'identityProviders',
  entry: object,
  outcome: string,
): Markup {
  const whole = JSON.stringify({ [list]: [entry] }, null, 2);
  const address = `data:application/json;base64,${Buffer.from(`${whole}\n`).toString('base64')}`;
  return section(
    'Export',
    html`<p>${
      file === null
        ? html`There is no configuration file yet: save this as <code>portcullis.json</code>, and start with <code>portcullis up --config portcullis.json</code>.`
        : html`Add this entry to <code>${list}</code> in <code>${file}</code>. ${outcome}`
    }</p>
${copyText(file === null ? whole : JSON.stringify(entry, null, 2))}
${file?.endsWith('.json') === true && html`<p>Or let <code>jq</code> write the changed file beside it; the secrets in the file stay where they are.</p>${copyText(jqCommand(file, list, entry))}`}
<p class="buttons"><a class="button main" download="portcullis.json" href="${address}">Download as a file</a></p>`,
  );
}

/** Adds an entry to a list of a JSON file, and writes the result to another file. */
function jqCommand(file: string, list: string, entry: object): string {
  const program = `.${list} += [$entry]`;
  return `jq --argjson entry ${quoteForShell(JSON.stringify(entry))} ${quoteForShell(program)} ${quoteForShell(file)} > ${quoteForShell(file.replace(/\.json$/, '.new.json'))}`;
}
