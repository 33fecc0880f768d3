"""A server of JSON under test, and one connection to it that is kept."""

import http.client
import json
import threading


class Served:
    """Mixed into a test case, which returns its server from `make`."""

    def setUp(self):
        self.server = self.make()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.connection = http.client.HTTPConnection("127.0.0.1", self.server.server_address[1], timeout=10)

    def tearDown(self):
        self.connection.close()
        self.server.shutdown()
        self.server.server_close()

    def ask(self, path, body=None, headers=None, method=None):
        sent = None if body is None else json.dumps(body)
        usual = {"content-type": "application/json"} if headers is None else headers
        self.connection.request(method or ("GET" if body is None else "POST"), path, sent, usual)
        response = self.connection.getresponse()
        return response.status, json.loads(response.read())
