/** docs/configuration.md, made from the table of settings. `npm run documents` writes it; a test compares it. */
import { flagOf, type SettingName, variableOf } from './settings.ts';
import type { DescribedMember } from './shapes.ts';
import { fileVariableOf, groups, hasFlag, isInFile, otherwiseOf, table } from './table.ts';

/** The whole page, in Markdown. */
export function configurationPage(): string {
  return `${[INTRODUCTION, ...groups.map(({ title, names }) => group(title, names)), EXAMPLES].join('\n\n')}\n`;
}

const INTRODUCTION = `# Configuration

Everything that \`portcullis up\` and the commands beside it can be told. This page is made from the table in [table.ts](../packages/cli/src/settings/table.ts) (\`npm run documents\`), as the help texts and the checks are.

* A flag wins over its environment variable, which wins over the configuration file, which wins over the default.
* The file is JSON, or a module that exports \`config\`; \`PORTCULLIS_CONFIG\` or \`--config\` names it. It holds settings by their names in camelCase. For a module, \`FileConfiguration\` of \`@portcullis/cli\` is its type.
* Names of files are relative to the folder in which the program starts.
* A variable that is empty counts as not set. Lists are written with commas in between, structured settings as JSON.
* Faults are reported together, before anything is opened, each under the name by which it was said: the flag, the variable, or the key and its file. A setting, a member or a variable \`PORTCULLIS_…\` that does not exist is a fault, with the nearest that does. What opening alone can show (a port that is taken, a database that does not answer) is told when it comes to that.
* Secrets belong into variables or files, for other users of a computer can read its command lines. Within the file a secret may stand elsewhere: \`{ "file": "secrets/report" }\` or \`{ "variable": "REPORT_SECRET" }\`. A variable that ends with \`_FILE\` names a file with the secret.`;

function group(title: string, names: readonly SettingName[]): string {
  const rows = names.map((name) => {
    const { what, shape } = table[name];
    const places = [
      ...(isInFile(name) ? [`\`${name}\``] : []),
      `\`${variableOf(name)}\``,
      ...[fileVariableOf(name)].flatMap((variable) => (variable === null ? [] : [`\`${variable}\``])),
      ...(hasFlag(name) ? [`\`${flagOf(name)}\``] : []),
    ];
    return row([places.join('<br>'), what, shape.words, code(otherwiseOf(name))]);
  });
  const more = names.flatMap((name) => [...said(name), ...members(name)]);
  const head = ['| setting | decides | is | default |', '|---|---|---|---|'];
  return [`## ${title}`, [...head, ...rows].join('\n'), ...more].join('\n\n');
}

function said(name: SettingName): readonly string[] {
  const { more } = table[name];
  return more === undefined ? [] : [`\`${name}\`: ${more}`];
}

function members(name: SettingName): readonly string[] {
  const known = flatten(table[name].shape.members ?? []);
  if (known.length === 0) return [];
  const head = [`| member of \`${name}\` | decides | is | default |`, '|---|---|---|---|'];
  const rows = known.map((member) =>
    row([`\`${member.name}\``, member.what, member.words, member.otherwise]),
  );
  return [[...head, ...rows].join('\n')];
}

/** Members of members under their full names. */
function flatten(list: readonly DescribedMember[], path = ''): readonly DescribedMember[] {
  return list.flatMap((member) => {
    const name = `${path}${member.name}`;
    return [{ ...member, name }, ...flatten(member.members, `${name}.`)];
  });
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** A default that is something to write stands as code; words stay words. */
function code(text: string): string {
  return /^[\w.:/<>-]+$/.test(text) && text !== 'none' && text !== 'all' && text !== 'ours'
    ? `\`${text}\``
    : text;
}

const EXAMPLES = `## Examples

An authorization server alone, for two servers elsewhere, in which only apps from known hosts and those that you set up get in:

\`\`\`json
{
  "publicUrl": "https://auth.example.com",
  "trustedProxies": ["10.0.0.0/8"],
  "host": "0.0.0.0",
  "database": "postgres://portcullis@db.internal/portcullis",
  "resources": [
    {
      "url": "https://mcp.example.com/notes",
      "name": "Notes",
      "scopes": { "notes:read": "Read your notes", "notes:write": "Add and delete notes" },
      "defaultScopes": ["notes:read"],
      "requiredScopes": ["notes:read"],
      "hierarchy": { "notes:write": ["notes:read"] }
    },
    {
      "url": "https://mcp.example.com/files",
      "name": "Files",
      "scopes": { "files:read": "Read your files" },
      "introspectionClients": ["files-server"]
    }
  ],
  "registration": false,
  "metadataDocuments": { "hosts": ["claude.ai", "*.vscode.dev"] },
  "clients": [
    {
      "client_id": "files-server",
      "client_secret": { "file": "/run/secrets/files-server" },
      "grant_types": ["client_credentials"]
    }
  ],
  "lifetimes": { "accessToken": 300 },
  "brand": { "logo": "logo.svg", "accent": { "light": "#1c4fc4", "dark": "#8fb2ff" } }
}
\`\`\`

Registration for those whom you gave a token only, and a choice of workspaces, in a module:

\`\`\`ts
import type { FileConfiguration } from '@portcullis/cli';

export const config: FileConfiguration = {
  registration: { initialAccessTokens: [{ variable: 'REGISTRATION_TOKEN' }], scope: 'ceiling' },
  workspaces: async (accountId, resource) => [{ id: 'team-1', name: 'Team one' }],
};
\`\`\``;
