// SPDX-License-Identifier: MIT
// usage: node server.js PORT: answers each request after reading a file in
// libuv's pool; every tenth also hashes there.  GET /end ends it.
const fs = require('fs');
const http = require('http');
const crypto = require('crypto');

let answered = 0;
const server = http.createServer((request, response) => {
	if (request.url === '/end') {
		response.end('answered ' + answered + '\n');
		server.close();
		server.closeIdleConnections();
		return;
	}
	fs.readFile(__filename, (error, text) => {
		if (error)
			throw error;
		const finish = () => {
			answered++;
			response.end(crypto.createHash('sha256').update(text).digest('hex'));
		};
		if (answered % 10 === 9)
			crypto.pbkdf2('a', 'b', 1000, 32, 'sha256', finish);
		else
			finish();
	});
});
server.listen(Number(process.argv[2]), '127.0.0.1');
