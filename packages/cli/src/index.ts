/** What a module that `portcullis up` loads needs to know: types of applications and of configuration files. */
export type { ApplicationContext, ProtectedApplication, RunningApplication } from './server/application.ts';
export type { Log, LogEvent } from './server/log.ts';
export type { FileConfiguration } from './settings/config-file.ts';
