/** Types for modules that `portcullis up` loads: applications and configuration files. */
export type { ApplicationContext, ProtectedApplication, RunningApplication } from './server/application.ts';
export type { Log } from './server/log.ts';
export type { FileConfiguration } from './settings/config-file.ts';
