"""A server that speaks the protocol of chat completions on loopback, and what is sent to it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from inference.engines import RenderedRequest
from inference.prompts import Message
from inference.raters import resolve_raters


class Server(ThreadingHTTPServer):
    """Answers chat completions as its script says; keeps what it was sent."""

    daemon_threads = True

    def __init__(self, script):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.seen, self.lock = script, [], threading.Lock()
        self.n_open = self.most_open = 0
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.seen.append((self.path, body, self.headers["authorization"]))
            n_before = sum(1 for _, other, _ in self.server.seen[:-1] if other == body)
            self.server.n_open += 1
            self.server.most_open = max(self.server.most_open, self.server.n_open)
        status, headers, content = self.server.script(body, n_before)
        with self.server.lock:
            self.server.n_open -= 1
        sent = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(sent))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent)


def reply(text, finish_reason="stop", **more):
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": finish_reason, **more}
    return 200, {}, {"choices": [choice], "usage": {"prompt_tokens": 11, "completion_tokens": 2}}


def quick(server, **more):
    return {"base_url": server.url, "first_wait_seconds": 0.01, **more}


def requests_of(registry, n):
    rater = resolve_raters(registry)["served|free"]
    for i in range(n):
        message = Message("user", f"number {i}")
        yield RenderedRequest(f"r{i}", rater, "tiny_labels", f"i{i}", 0, 1, (message,), ("right",))
