/** The installed project in a test file, or why its tests are skipped. */
import { inject } from 'vitest';
import type { Installation } from '../support/install.ts';
import type { InstalledProject } from './project.ts';

export interface Injected {
  readonly project: InstalledProject;
  readonly missing: string | undefined;
}

/** @param others packages that the file needs as well */
export function injectProject(others?: Installation): Injected {
  const installed = inject('installed');
  const isMissing = typeof installed === 'string';
  const missing = isMissing ? installed : others?.missing;
  if (missing !== undefined) console.warn(`skipped: ${missing}`);
  return { project: isMissing ? { folder: '', environment: {} } : installed, missing };
}
