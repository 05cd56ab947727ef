/** Completes the entry of an identity provider by its preset: GitHub, Google, Okta and others. */
import type { OptionReport } from '../../option-schema/reader.ts';
import type {
  IdentityProviderEntry,
  IdentityProviderOptions,
  PresetName,
  PresetOptions,
  PresetParameter,
} from './options.ts';
import { auth0, github, gitlab, google, keycloak, microsoftEntra, okta, slack } from './presets.ts';

interface Preset {
  readonly needs: readonly PresetParameter[];
  readonly accepts?: readonly PresetParameter[];
  create(
    options: PresetOptions,
    parameters: Pick<IdentityProviderEntry, PresetParameter>,
  ): IdentityProviderOptions;
}

const presets: Readonly<Record<PresetName, Preset>> = {
  github: { needs: [], create: github },
  google: { needs: [], create: google },
  'microsoft-entra': {
    needs: ['tenant'],
    create: (options, { tenant = '' }) => microsoftEntra(tenant, options),
  },
  okta: {
    needs: ['domain'],
    accepts: ['server'],
    create: (options, { domain = '', server }) => okta(domain, options, server),
  },
  auth0: { needs: ['domain'], create: (options, { domain = '' }) => auth0(domain, options) },
  keycloak: {
    needs: ['url', 'realm'],
    create: (options, { url = '', realm = '' }) => keycloak(url, realm, options),
  },
  gitlab: {
    needs: [],
    accepts: ['url'],
    create: (options, { url }) => gitlab(options, url),
  },
  slack: { needs: [], create: slack },
};

/**
 * Completes an entry by its preset.
 * @returns `null` after reporting what is missing
 */
export function completeEntry(
  { preset: name, tenant, domain, server, url: base, realm, ...options }: IdentityProviderEntry,
  path: readonly string[],
  report: OptionReport,
): IdentityProviderOptions | null {
  const given = { tenant, domain, server, url: base, realm };
  const preset = presets[name as PresetName];
  let isComplete = true;
  const fail = (member: string, message: string) => {
    isComplete = false;
    if (!report.isUnread(...path, member)) report.add([...path, member], message);
  };
  for (const [parameter, value] of Object.entries(given) as [PresetParameter, string | undefined][]) {
    if (value === undefined && preset?.needs.includes(parameter) === true) {
      fail(parameter, `is required for the preset ${name}`);
    }
    const accepted = [...(preset?.needs ?? []), ...(preset?.accepts ?? [])];
    if (value !== undefined && !accepted.includes(parameter) && !report.isUnread(...path, 'preset')) {
      fail(parameter, name === undefined ? 'needs a preset' : `does not apply to the preset ${name}`);
    }
  }
  if (preset !== undefined) {
    if (options.kind !== undefined) fail('kind', 'must be left out with a preset');
    const { kind: _kind, ...known } = options;
    return isComplete ? preset.create(known as PresetOptions, given) : null;
  }
  if (report.isUnread(...path, 'preset')) return null;
  for (const member of ['id', 'name', 'scopes', 'kind'] as const) {
    if (options[member] === undefined) fail(member, 'is required');
  }
  return isComplete ? (options as IdentityProviderOptions) : null;
}
