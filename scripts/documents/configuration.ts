/** docs/configuration.md, from the schema of the settings. */
import { kindOf, optionSections } from '@portcullis/authorization-server/options';
import { describeMembers } from '../../packages/cli/src/settings/describe.ts';
import {
  defaultOf,
  fileVariableOf,
  flagOf,
  hasFlag,
  isInFile,
  type SettingName,
  settingDefinitions,
  settingNames,
  variableOf,
} from '../../packages/cli/src/settings/schema.ts';

/** The whole page, in Markdown. */
export function configurationPage(): string {
  return `${[INTRODUCTION, ...optionSections.map(group), EXAMPLES].join('\n\n')}\n`;
}

const INTRODUCTION = `# Configuration

All settings of \`portcullis up\` and the commands beside it. This page is generated from the [schema](../packages/cli/src/settings/schema.ts) (\`npm run documents\`) that also validates them.

* Flags win over environment variables, which win over the configuration file, which wins over defaults.
* The file is JSON, or a module that exports \`config\`; name it with \`PORTCULLIS_CONFIG\` or \`--config\`. It holds settings by their names in camelCase. A module can use the type \`FileConfiguration\` of \`@portcullis/cli\`.
* For completion in editors, save the output of \`portcullis config schema\` and name it in the file: \`"$schema": "./portcullis.schema.json"\`. \`portcullis config check [file]\` validates a file without starting anything; the files and variables of its secrets must be there, as for the server.
* File names are relative to the working directory.
* An empty variable counts as not set. Write lists with commas, structured settings as JSON.
* All issues are reported together before anything is opened, each under the name by which the value was set: the flag, the variable, or the key and its file. Unknown keys and variables \`PORTCULLIS_…\` are refused with a suggestion.
* Keep secrets in variables or files: other users of a computer can read its command lines. In the file, a secret can be a reference: \`{ "file": "secrets/report" }\` or \`{ "variable": "REPORT_SECRET" }\`. A variable that ends with \`_FILE\` names a file with the secret.`;

function group(section: (typeof optionSections)[number]): string {
  const names = settingNames.filter((name) => settingDefinitions[name].section === section);
  const rows = names.map((name) => {
    const { description = '', schema } = settingDefinitions[name];
    const ways = [
      ...(isInFile(name) ? [name] : []),
      variableOf(name),
      ...[fileVariableOf(name)].filter((variable) => variable !== null),
      ...(hasFlag(name) ? [flagOf(name)] : []),
    ];
    return row([
      ways.map((way) => `\`${way}\``).join('<br>'),
      description,
      kindOf(schema()),
      code(defaultOf(name)),
    ]);
  });
  const head = ['| setting | description | type | default |', '|---|---|---|---|'];
  return [
    `## ${section}`,
    [...head, ...rows].join('\n'),
    ...names.flatMap((name) => [...note(name), ...members(name)]),
  ].join('\n\n');
}

function note(name: SettingName): readonly string[] {
  const { note: text } = settingDefinitions[name];
  return text === undefined ? [] : [`\`${name}\`: ${text}`];
}

function members(name: SettingName): readonly string[] {
  const rows = describeMembers(settingDefinitions[name].schema()).map((member) =>
    row([`\`${member.name}\``, member.description, member.kind, member.default]),
  );
  const head = [`| member of \`${name}\` | description | type | default |`, '|---|---|---|---|'];
  return rows.length === 0 ? [] : [[...head, ...rows].join('\n')];
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** Formats literal defaults as code, descriptions as text. */
function code(text: string): string {
  return /^[\w.:/<>-]+$/.test(text) && !['none', 'all'].includes(text) ? `\`${text}\`` : text;
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
      "resource": "https://mcp.example.com/notes",
      "name": "Notes",
      "scopes": { "notes:read": "Read your notes", "notes:write": "Add and delete notes" },
      "defaultScopes": ["notes:read"],
      "requiredScopes": ["notes:read"],
      "hierarchy": { "notes:write": ["notes:read"] }
    },
    {
      "resource": "https://mcp.example.com/files",
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
      "grant_types": []
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
