"""A real HTTP server on this host that speaks the OpenAI, Anthropic and Ollama protocols, streaming included.

What it answers is a script: a function of the request, or replies in order. A reply can misbehave in every way that real
providers do.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Fault = Literal["none", "invalid-json", "wrong-schema", "truncated", "hang", "dropped", "stream-error", "null-usage"]


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def protocol(self) -> str:
        """``openai``, ``anthropic`` or ``ollama``."""
        return "anthropic" if "/messages" in self.path else "ollama" if "/api/chat" in self.path else "openai"

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages, the system message first, their content as text."""
        listed = [{"role": m["role"], "content": _text(m.get("content"))} for m in self.body.get("messages", [])]
        if "system" in self.body:
            listed.insert(0, {"role": "system", "content": _text(self.body["system"])})
        return listed

    @property
    def user(self) -> str:
        """Everything that stands in user and tool messages."""
        return "\n".join(m["content"] for m in self.messages if m["role"] != "system")


@dataclass(frozen=True)
class Reply:
    """What the server does. ``usage`` is (in, out); None reports nothing."""

    text: str = ""
    calls: Sequence[tuple[str, str]] = ()
    """Tool calls: name, and arguments as JSON text (which may be no JSON)."""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    usage: tuple[int, int] | None = (100, 20)
    finish: str = ""
    refusal: str = ""
    fault: Fault = "none"


Script = Callable[[Request], Reply]


def in_order(*replies: Reply) -> Script:
    """Each reply once, the last one for ever."""
    left = list(replies)
    return lambda _request: left.pop(0) if len(left) > 1 else left[0]


@dataclass
class ModelServer:
    """A running server."""

    url: str
    script: Script
    requests: list[Request] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def openai(self) -> str:
        """Base address of the OpenAI protocol."""
        return f"{self.url}/v1"


@contextmanager
def serving(script: Script) -> Iterator[ModelServer]:
    """A server on a free port of this host; it is stopped at the end, hung requests included."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    http.daemon_threads = True
    server = ModelServer(f"http://127.0.0.1:{http.server_port}", script)
    http.model_server = server  # type: ignore[attr-defined]
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        http.shutdown()
        http.server_close()
        thread.join(5)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the library's name
        pass

    def do_POST(self) -> None:
        server: ModelServer = self.server.model_server  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        request = Request(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
        server.requests.append(request)
        reply = server.script(request)
        if reply.fault == "hang":
            server.stopping.wait(30)
            self.close_connection = True
            return
        if reply.status != 200:
            error = {"error": {"message": reply.text or "asked for", "type": "error"}, "type": "error"}
            self._send(json.dumps(error).encode(), reply.status, reply.headers)
        elif reply.fault in ("invalid-json", "wrong-schema"):
            text = b'{"choices": [{"del' if reply.fault == "invalid-json" else b'{"result": "another protocol"}'
            if body.get("stream"):
                self._headers(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
                self._chunk(b"data: " + text + b"\n\n")
                self._chunk(b"")
            else:
                self._send(text, 200, reply.headers)
        elif body.get("stream"):
            self._stream(request, reply)
        else:
            text = json.dumps(_whole(request, reply)).encode()
            if reply.fault in ("truncated", "dropped"):
                self._headers(200, {"Content-Length": str(len(text)), "Content-Type": "application/json"})
                self.wfile.write(text[: len(text) // 2])
                self.close_connection = True
            else:
                self._send(text, 200, reply.headers)

    def _headers(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, body: bytes, status: int, headers: dict[str, str]) -> None:
        self._headers(status, {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers})
        self.wfile.write(body)

    def _stream(self, request: Request, reply: Reply) -> None:
        events = list(_events(request, reply))
        if reply.fault == "truncated":
            events = events[: max(1, len(events) // 2)]  # ends as if it were over
        kind = "application/x-ndjson" if request.protocol == "ollama" else "text/event-stream"
        self._headers(200, {"Content-Type": kind, "Transfer-Encoding": "chunked"})
        for number, event in enumerate(events):
            if reply.fault == "dropped" and number == len(events) // 2:
                self.wfile.flush()
                self.connection.close()  # in the middle of a chunked body
                self.close_connection = True
                return
            self._chunk(event)
        if reply.fault == "stream-error":
            self._chunk(b'data: {"error": {"message": "overloaded", "type": "overloaded_error"}}\n\n')
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        try:
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        except OSError:  # the client has had enough
            self.close_connection = True


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(_text(part.get("text") or part.get("content") or part) for part in content if part)
    return content if isinstance(content, str) else json.dumps(content) if content else ""


def _pieces(text: str) -> list[str]:
    step = max(1, len(text) // 4)
    return [text[i : i + step] for i in range(0, len(text), step)]


def _finish(protocol: str, reply: Reply) -> str:
    if reply.finish:
        return reply.finish
    if protocol == "anthropic":
        return "tool_use" if reply.calls else "end_turn"
    return "tool_calls" if reply.calls else "stop"


def _usage(protocol: str, reply: Reply) -> dict[str, Any] | None:
    if reply.fault == "null-usage":
        return {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}
    if reply.usage is None:
        return None
    first, second = reply.usage
    if protocol == "anthropic":
        return {"input_tokens": first, "output_tokens": second}
    return {"prompt_tokens": first, "completion_tokens": second, "total_tokens": first + second}


def _openai_calls(reply: Reply, *, indexed: bool) -> list[dict[str, Any]]:
    return [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        | ({"index": n} if indexed else {})
        for n, (name, arguments) in enumerate(reply.calls)
    ]


def _whole(request: Request, reply: Reply) -> dict[str, Any]:
    finish, usage = _finish(request.protocol, reply), _usage(request.protocol, reply)
    model = request.body.get("model", "")
    if request.protocol == "anthropic":
        content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
        content += [
            {"type": "tool_use", "id": f"call_{n}", "name": name, "input": json.loads(arguments)}
            for n, (name, arguments) in enumerate(reply.calls)
        ]
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": content,
            "stop_reason": finish,
            "stop_sequence": None,
            "usage": usage or {"input_tokens": 0, "output_tokens": 0},
        }
    if request.protocol == "ollama":
        return _ollama(model, reply, reply.text, done=True)
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = _openai_calls(reply, indexed=False)
    if reply.refusal:
        message["refusal"] = reply.refusal
    whole = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
    }
    return whole if usage is None else whole | {"usage": usage}


def _ollama(model: str, reply: Reply, text: str, *, done: bool) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if reply.calls and done:
        message["tool_calls"] = [{"function": {"name": n, "arguments": json.loads(a)}} for n, a in reply.calls]
    value = {"model": model, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": done}
    if done:
        value["done_reason"] = reply.finish or "stop"
        if reply.usage is not None:
            value["prompt_eval_count"], value["eval_count"] = reply.usage
    return value


def _events(request: Request, reply: Reply) -> Iterator[bytes]:
    match request.protocol:
        case "anthropic":
            yield from _anthropic_events(request, reply)
        case "ollama":
            for piece in _pieces(reply.text):
                yield json.dumps(_ollama(request.body["model"], reply, piece, done=False)).encode() + b"\n"
            yield json.dumps(_ollama(request.body["model"], reply, "", done=True)).encode() + b"\n"
        case _:
            yield from _openai_events(request, reply)


def _openai_events(request: Request, reply: Reply) -> Iterator[bytes]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": request.body.get("model", "")}

    def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return b"data: " + json.dumps({**head, "choices": [choice]}).encode() + b"\n\n"

    yield event({"role": "assistant", "content": ""})
    for piece in _pieces(reply.text):
        yield event({"content": piece})
    if reply.refusal:
        yield event({"refusal": reply.refusal})
    for call in _openai_calls(reply, indexed=True):
        yield event({"tool_calls": [call]})
    yield event({}, _finish("openai", reply))
    usage = _usage("openai", reply)
    if usage is not None and (request.body.get("stream_options") or {}).get("include_usage"):
        yield b"data: " + json.dumps({**head, "choices": [], "usage": usage}).encode() + b"\n\n"
    if reply.fault != "stream-error":
        yield b"data: [DONE]\n\n"


def _anthropic_events(request: Request, reply: Reply) -> Iterator[bytes]:
    def event(kind: str, **more: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()

    usage = _usage("anthropic", reply) or {"input_tokens": 0, "output_tokens": 0}
    message = _whole(request, Reply(usage=reply.usage)) | {"content": [], "stop_reason": None}
    message["usage"] = {**usage, "output_tokens": 1}
    yield event("message_start", message=message)
    index = 0
    if reply.text:
        yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
        for piece in _pieces(reply.text):
            yield event("content_block_delta", index=index, delta={"type": "text_delta", "text": piece})
        yield event("content_block_stop", index=index)
        index += 1
    for n, (name, arguments) in enumerate(reply.calls):
        block = {"type": "tool_use", "id": f"call_{n}", "name": name, "input": {}}
        yield event("content_block_start", index=index, content_block=block)
        for piece in _pieces(arguments):
            yield event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": piece})
        yield event("content_block_stop", index=index)
        index += 1
    delta = {"stop_reason": _finish("anthropic", reply), "stop_sequence": None}
    yield event("message_delta", delta=delta, usage={"output_tokens": usage["output_tokens"]})
    yield event("message_stop")
