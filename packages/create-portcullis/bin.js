#!/usr/bin/env node
// Plain JavaScript that an older Node can read, so that it is named instead of a SyntaxError.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 7)) {
  process.stderr.write(
    `create-portcullis: needs Node 24.7 or later, and this is Node ${process.versions.node}: install it from https://nodejs.org\n`,
  );
  process.exit(1);
}
await import('#main');
