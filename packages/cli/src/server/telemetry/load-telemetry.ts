/** Loads OpenTelemetry, whose packages are optional. */
import { codeOf, SettingsError } from '../../errors.ts';
import { readOtlp } from '../../settings/otlp.ts';
import type { Settings } from '../../settings/schema.ts';
import type { Parts } from '../parts.ts';
import type { Telemetry } from './start-telemetry.ts';

const PACKAGES = [
  '@opentelemetry/api@^1.10.0',
  '@opentelemetry/context-async-hooks@^3.1.0',
  '@opentelemetry/exporter-metrics-otlp-proto@^0.301.0',
  '@opentelemetry/exporter-trace-otlp-proto@^0.301.0',
  '@opentelemetry/resources@^3.1.0',
  '@opentelemetry/sdk-metrics@^3.1.0',
  '@opentelemetry/sdk-trace@^3.1.0',
];

/**
 * @returns `null` if no collector is configured
 * @throws SettingsError if a package is missing
 */
export async function loadTelemetry(
  { otlp }: Pick<Settings, 'otlp'>,
  { log, metrics }: Pick<Parts, 'log' | 'metrics'>,
  nameOf: (name: 'otlp') => string,
): Promise<Telemetry | null> {
  const read = readOtlp(otlp);
  if (read === null) return null;
  try {
    const { startTelemetry } = await import('./start-telemetry.ts');
    return startTelemetry(read, log, metrics.spans);
  } catch (cause) {
    if (codeOf(cause) !== 'ERR_MODULE_NOT_FOUND') throw cause;
    const command = `npm install ${PACKAGES.join(' ')}`;
    throw new SettingsError(
      [`${nameOf('otlp')} needs packages that are not installed. Install them: ${command}`],
      { cause },
    );
  }
}
