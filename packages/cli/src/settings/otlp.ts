/** The setting `otlp`: the OpenTelemetry collector of traces, metrics and events. */
import {
  checkedText,
  lazy,
  optional,
  optionMeta,
  record,
  secret,
} from '@portcullis/authorization-server/options';
import { isSecureUrl, readWebUrl } from '@portcullis/protocol';
import * as z from 'zod';

/** A collector, by the protocol OTLP over HTTP. */
export interface Otlp {
  /** Without a final slash and `/v1/traces`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The fraction of requests that are traced. */
  readonly sampling: number;
}

const endpoint = lazy(() =>
  checkedText('a URL', (value) => {
    const url = readWebUrl(value);
    if (url === null || url.search !== '' || url.username !== '' || url.password !== '')
      return 'must be an https or http URL such as http://localhost:4318, without a query or a password';
    return /\/v1\/(?:traces|metrics|logs)\/?$/.test(url.pathname)
      ? 'must not end with the path of one signal: /v1/traces, /v1/metrics and /v1/logs are appended'
      : null;
  }),
);

const INSECURE = 'must be an https URL, because the headers may be secret; http only on loopback';

/** The schema of the setting `otlp`. */
export const otlpSchema = lazy(() =>
  z
    .union([
      endpoint(),
      z
        .strictObject({
          url: endpoint().describe('base URL of the collector'),
          headers: optional(
            record(secret(), 'an object of header values'),
            'headers of each request, such as `authorization`',
          ),
          sampling: z
            .number()
            .min(0)
            .max(1)
            .register(optionMeta, { kind: 'a number', expected: 'a number from 0 to 1' })
            .default(1)
            .describe('fraction of requests that are traced; what a caller wants is not considered'),
        })
        .superRefine(({ url, headers = {} }, { addIssue }) => {
          const parsed = readWebUrl(url);
          if (Object.keys(headers).length > 0 && parsed !== null && !isSecureUrl(parsed))
            addIssue({ code: 'custom', path: ['url'], message: INSECURE });
        }),
    ])
    .register(optionMeta, { kind: 'a URL, or an object' }),
);

/** The setting with its defaults; `null`: it is off. */
export function readOtlp(setting: z.output<ReturnType<typeof otlpSchema>> | null): Otlp | null {
  if (setting === null) return null;
  const {
    url,
    headers = {},
    sampling,
  } = typeof setting === 'string' ? { url: setting, sampling: 1 } : setting;
  return { url: url.replace(/\/+$/, ''), headers, sampling };
}
