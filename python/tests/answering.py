"""A server on a free port in the place of an installation: who inherits says how it answers."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Answering:
    """Calls `respond(method, path, raw, headers)` for each request, whose answer is (status, headers, body): a body of bytes, nothing, or JSON. The header
    `cut` leaves out as many bytes of its end and closes the connection, once the event `hold` is set where it has one."""

    def __init__(self, port=0):
        answering = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self):
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                status, headers, body = answering.respond(self.command, self.path, raw, {name.lower(): value for name, value in self.headers.items()})
                data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
                cut, hold = headers.pop("cut", 0), headers.pop("hold", None)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[: len(data) - cut])
                if hold:
                    hold.wait(10)
                if cut:
                    self.close_connection = True

            do_GET = do_POST = do_PUT = answer

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.port}"

    def respond(self, method, path, raw, headers):
        raise NotImplementedError

    def close(self):
        self.server.shutdown()
        self.server.server_close()
