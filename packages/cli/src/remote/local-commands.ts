/** The commands that act on no other server, and why. */

const OWN_SERVER = 'it runs a server on this computer';
const CLIENT = 'it takes the URL of its server as an argument; leave --server out';

/** By their words. */
export const LOCAL_COMMANDS: Readonly<Record<string, string>> = {
  protect: OWN_SERVER,
  up: OWN_SERVER,
  status: 'it shows the servers that run on this computer',
  open: 'it opens the pages of a server that runs on this computer',
  'config schema': 'it prints what is built into this program',
  'config check': 'it reads a configuration file of this computer',
  'policy test': 'it decides by a configuration file of this computer, before a server has it',
  'keys reencrypt': 'it reads the master keys, which no server sends or receives; run it beside the database',
  'keys discard':
    'it compares with the master key, which no server sends or receives; run it beside the database',
  migrate: 'it changes the tables that a running server uses; run it beside the database',
  login: CLIENT,
  logout: CLIENT,
  sessions: 'it lists what is stored on this computer',
  token: CLIENT,
  tools: CLIENT,
  call: CLIENT,
  connect: CLIENT,
  doctor: CLIENT,
  completion: 'it prints a script for a shell on this computer',
};
