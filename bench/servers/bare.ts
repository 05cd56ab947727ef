/** The baseline: bare node:http that responds with 60 bytes of JSON. */
import { createServer } from 'node:http';

const BODY = JSON.stringify({ message: 'Sixty bytes of JSON, neither more nor fewer...' });
const HEADERS = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(BODY)) };

createServer((_request, response) => {
  response.writeHead(200, HEADERS).end(BODY);
}).listen(Number(process.env['PORT']), '127.0.0.1');
